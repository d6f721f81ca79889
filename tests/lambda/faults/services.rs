//! Kafka and Redis fail the functions, and connections end while functions are frozen.

use std::time::Duration;

use howk_tests::rig::load::{Accepted, Planned};
use howk_tests::rig::pair::{Pair, Service};
use howk_tests::rig::proxy::{self, Proxy};
use howk_tests::rig::receiver::Behaviour;

use super::credentials::Credentials;
use super::scene::{Scene, quick};
use crate::rig::until;

/// How long Kafka is away.
const AWAY: Duration = Duration::from_secs(5);
/// How long a caller waits for a refusal: as long as the front's function may take.
const CALLER_TIMEOUT: Duration = Duration::from_secs(20);
/// How long tokens are valid.
const TOKEN_LIFETIME: Duration = Duration::from_secs(4);
const TAKING: Planned = Planned::delivered(Behaviour::Takes);

/// Does something to the pair, which blocks.
async fn on_pair(scene: &Scene, act: impl FnOnce(&Pair) + Send + 'static) {
    let pair = scene.pair.clone();
    tokio::task::spawn_blocking(move || act(&pair)).await.unwrap();
}

/// Kafka is stopped for a while. Callers get 503 with Retry-After; webhooks that were accepted before, and those that
/// callers repeat until they are accepted, are delivered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accepted_means_delivered_when_kafka_was_away() {
    let scene = Scene::start("kafka").await;
    let mut accepted = scene.post("before", Planned::delivered(Behaviour::Fails(1)), (100, 20)).await;
    on_pair(&scene, |pair| pair.stop(Service::Kafka)).await;
    let url = format!("{}/webhooks/tenant/enqueue", scene.functions.stack.url);
    let body = r#"{"endpoint":"http://127.0.0.1:1/","payload":1}"#;
    let refused = scene.stage.client.post(url).body(body).timeout(CALLER_TIMEOUT).send().await.unwrap();
    assert_eq!(refused.status(), 503);
    assert!(refused.headers().contains_key("retry-after"));
    let returning = async {
        tokio::time::sleep(AWAY).await;
        on_pair(&scene, |pair| pair.start_again(Service::Kafka)).await;
    };
    let (meanwhile, ()) = futures::join!(scene.post("meanwhile", TAKING, (100, 20)), returning);
    accepted.extend(meanwhile);
    scene.settle(&accepted).await;
}

/// Between invocations every function is frozen. Meanwhile brokers and Redis end its connections, as they do with idle
/// ones. The next invocations accept and deliver everything in one try.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_that_thaw_without_connections_deliver_at_once() {
    let proxy = parking_lot::Mutex::new(None);
    let scene = Scene::with(quick("thaw"), |pair, config| {
        let ports = proxy::ports(&pair.brokers());
        *proxy.lock() = Some(Proxy::start(ports));
        config.variables.insert("HOWK_KAFKA_BROKERS".to_owned(), format!("127.0.0.1:{}", ports.1));
    })
    .await;
    deliver_in_rounds(scene, async |scene| {
        proxy.lock().as_ref().unwrap().cut();
        on_pair(scene, |pair| {
            for kind in ["normal", "pubsub"] {
                redis::cmd("CLIENT").arg(&["KILL", "TYPE", kind]).exec(&mut pair.connection()).unwrap();
            }
        })
        .await;
    })
    .await;
}

/// Functions sign in to Kafka by tokens of their AWS identity, and while they are frozen their tokens end, and with them
/// what Kafka lets their connections do. The next invocations accept and deliver everything in one try.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_that_thaw_with_tokens_that_have_ended_deliver_at_once() {
    let credentials = Credentials::start(TOKEN_LIFETIME).await;
    let scene = Scene::with(quick("token"), |pair, config| {
        config.variables.extend(credentials.variables(pair.brokers_with_tokens()));
    })
    .await;
    deliver_in_rounds(scene, async |_| tokio::time::sleep(TOKEN_LIFETIME).await).await;
}

/// Has webhooks delivered three times, and does something to the frozen functions in between.
async fn deliver_in_rounds(scene: Scene, disturb: impl AsyncFn(&Scene)) {
    let mut accepted = Vec::new();
    for round in 0..3 {
        accepted.extend(scene.post(&format!("{round}"), TAKING, (50, 10)).await);
        let sent = 50 * (round + 1);
        until("all is delivered", async || scene.requests() == sent && scene.source("fast-lane").state().lag == 0)
            .await;
        until("all stand still", async || scene.functions.environments("fast-lane").iter().all(|one| one.frozen))
            .await;
        disturb(&scene).await;
        let ready = scene.stage.client.get(format!("{}/ready", scene.functions.stack.url)).send().await.unwrap();
        assert_eq!(ready.status(), 200, "a function that asks Kafka and Redis is answered");
    }
    let state = scene.source("fast-lane").state();
    assert_eq!(state.item_failures, 0, "no batch failed: {state:?}");
    for function in scene.functions.stack.lambda().state() {
        assert_eq!(function.errors, 0, "no invocation failed: {function:?}");
    }
    let balance = scene.settle(&accepted).await;
    assert_eq!((balance.requests, balance.extra), (150, 0), "{:?}", balance.causes);
}

/// Redis is emptied, and replaced, under load. The lanes have their records redelivered until the reconciler has
/// rebuilt it; no operator has to do anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_store_is_rebuilt_under_load_while_the_lanes_have_their_records_redelivered() {
    let scene = Scene::start("flush").await;
    let losses: [fn(&Pair); 2] = [Pair::flush, |pair| {
        pair.kill(Service::Redis);
        pair.start_again(Service::Redis);
    }];
    let mut accepted: Vec<Accepted> = Vec::new();
    for (round, lose) in losses.into_iter().enumerate() {
        let losing = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            on_pair(&scene, lose).await;
        };
        let failing = Planned::delivered(Behaviour::Fails(2));
        let name = format!("{round}");
        let (posted, ()) = futures::join!(scene.post(&name, failing, (150, 50)), losing);
        accepted.extend(posted);
        let rebuilt = async || scene.functions.logged("the hot state is rebuilt") > round;
        until("the reconciler has rebuilt it", rebuilt).await;
    }
    let source = scene.source("fast-lane").state();
    assert!(source.item_failures > 0, "the lanes had records redelivered meanwhile: {source:?}");
    scene.settle(&accepted).await;
}
