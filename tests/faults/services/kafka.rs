//! The broker goes away.

use std::time::Duration;

use howk_tests::rig::installation::Installation;
use howk_tests::rig::load::Planned;
use howk_tests::rig::pair::{Service, Signal, number};
use howk_tests::rig::receiver::Behaviour;
use howk_tests::rig::servers::Setup;

use super::scene::{Scene, until};

/// Warnings and errors that one server may log in a second in which nothing works: some of each part of it.
const COMPLAINTS_A_SECOND: usize = 60;

/// How long a caller waits for the word that howk cannot accept: longer than howk waits for its broker.
const CALLERS_TIMEOUT: Duration = Duration::from_secs(45);

/// P10: the broker is killed while webhooks are being accepted. Each caller that got a 202 finds its webhook delivered;
/// who got none repeats the call and does so too, once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p10_accepted_means_delivered_when_the_broker_dies_right_after() {
    let mut scene = Scene::start(1, "p10").await;
    let pair = scene.pair.clone();
    let killing = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        tokio::task::spawn_blocking(move || {
            pair.kill(Service::Kafka);
            pair.start_again(Service::Kafka);
        })
        .await
        .unwrap();
    };
    let (accepted, ()) = futures::join!(scene.post("p10", Planned::delivered(Behaviour::Takes), (1000, 20)), killing);
    assert_eq!(scene.stage.settle(&accepted).await.accepted, 1000);
}

/// P13, P12: a broker that is away for long. The server says so to its callers and in `/ready`, complains within
/// bounds, and goes on by itself when the broker is back: the same process, nothing lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p13_a_long_outage_of_the_broker_ends_without_a_restart() {
    let away = number("HOWK_FAULT_KAFKA_DOWN", 15);
    let mut scene = Scene::start(2, "p13").await;
    let processes = [scene.servers.process(0), scene.servers.process(1)];
    let mut accepted = scene.post("before", Planned::delivered(Behaviour::Fails(2)), (200, 40)).await;
    scene.pair.stop(Service::Kafka);
    until("the server is not ready", async || scene.status_of(0, "/ready").await == Some(503.try_into().unwrap()))
        .await;
    let before = scene.complaints(0);
    let url = format!("{}/webhooks/tenant/enqueue", scene.servers.api(0));
    tokio::time::sleep(Duration::from_secs(away)).await;
    let complaints = scene.complaints(0) - before;
    assert!(complaints <= COMPLAINTS_A_SECOND * usize::try_from(away).unwrap(), "{complaints} lines in {away} s");
    let body = r#"{"endpoint":"http://127.0.0.1:1/","payload":1}"#;
    let refused = scene.stage.client.post(url).body(body).timeout(CALLERS_TIMEOUT).send().await.unwrap();
    assert_eq!(refused.status(), 503);
    assert!(refused.headers().contains_key("retry-after"));
    scene.pair.start_again(Service::Kafka);
    until("the server is ready", async || scene.status_of(0, "/ready").await == Some(200.try_into().unwrap())).await;
    accepted.extend(scene.post("after", Planned::delivered(Behaviour::Takes), (200, 40)).await);
    scene.stage.settle(&accepted).await;
    assert_eq!(
        [scene.servers.process(0), scene.servers.process(1)],
        processes,
        "both servers are the same processes"
    );
}

/// P19: requests are answered while no result can be written, because the broker does not answer. They are settled when
/// it does again, and none is made a second time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p19_what_was_delivered_while_no_result_could_be_written_is_not_sent_again() {
    // Claims that outlast the outage by far: a server that is slow to notice that the broker is back takes no claim over.
    let setup =
        Setup::quick(2, "p19.").with("HOWK_DELIVERY_FAST_TIMEOUT", "20s").with("HOWK_DELIVERY_TIMEOUT", "20s");
    let mut scene = Scene::with(setup).await;
    let taking = Planned::delivered(Behaviour::TakesAfter(400));
    // Enough at once that all are under way when the broker stops.
    let accepted = scene.post("p19", taking, (60, 20)).await;
    until("the first are on their way", async || scene.requests() >= 10).await;
    scene.pair.signal(Service::Kafka, Signal::Stop);
    tokio::time::sleep(Duration::from_secs(3)).await;
    scene.pair.signal(Service::Kafka, Signal::Continue);
    let balance = scene.stage.settle(&accepted).await;
    assert_eq!((balance.requests, balance.extra), (60, 0));
}
