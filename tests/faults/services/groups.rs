//! Members of the consumer groups come and go.

use std::time::Duration;

use delivery::ports::log::Log;
use domain::{ConfigId, Dispatch, Endpoint, Lane, Payload, PayloadKind, Record, Timestamp, Webhook, WebhookId};
use howk_tests::rig::installation::Installation;
use howk_tests::rig::load::{Accepted, Planned};
use howk_tests::rig::pair::Signal;
use howk_tests::rig::receiver::Behaviour;
use howk_tests::rig::servers::Setup;
use std::sync::Arc;

use super::scene::Scene;

/// How long a request may take on a machine that is busy.
const PATIENT: &str = "10s";
/// What is published while no server runs.
const WHILE_DOWN: u64 = 20;

fn published(scene: &Scene, number: u64) -> (Record, Accepted) {
    let planned =
        Planned { url: scene.stage.receiver.url(Behaviour::Takes, 0), ..Planned::delivered(Behaviour::Takes) };
    let created_at = Timestamp::from_ms(1);
    let id = WebhookId::fresh(created_at, u128::from(number));
    let webhook = Webhook {
        id: id.clone(),
        config_id: ConfigId::parse("tenant").unwrap(),
        endpoint: Endpoint::parse(&planned.url).unwrap(),
        payload: Payload { bytes: Arc::from(&b"{}"[..]), kind: PayloadKind::Json },
        headers: Vec::new(),
        idempotency_key: None,
        signing_secrets: Vec::new(),
        max_attempts: planned.max_attempts,
        retry_on_status: Vec::new(),
        created_at,
        trace: None,
    };
    (Record::Dispatch(Lane::Fast, Dispatch::first(Arc::new(webhook))), Accepted { id, planned })
}

/// X4: a group that is new begins with the oldest record and commits. What was delivered before a restart is not sent
/// again, even when the store was lost in between; what was accepted while no server ran is not missed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x4_a_restart_sends_nothing_again_and_misses_nothing() {
    let mut scene = Scene::start(1, "x4").await;
    let mut accepted = scene.post("x4", Planned::delivered(Behaviour::Takes), (50, 10)).await;
    scene.stage.settle(&accepted).await;
    scene.servers.signal(0, Signal::Terminate);
    scene.pair.flush();
    let (records, late): (Vec<_>, Vec<_>) = (0..WHILE_DOWN).map(|number| published(&scene, number)).unzip();
    scene.stage.ledger.log.publish(records).await.unwrap();
    scene.servers.start(0);
    scene.servers.ready(0).await;
    accepted.extend(late);
    let balance = scene.stage.settle(&accepted).await;
    assert_eq!((balance.requests, balance.extra), (70, 0));
}

/// X11: members leave and join while their partitions are full of work. Nothing is lost, and nothing is sent twice: who
/// leaves finishes what it has begun.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x11_members_that_come_and_go_under_load_lose_and_double_nothing() {
    // No receiver is too slow for the fast lane here, however busy the machine is: a retry would not be a double.
    let setup = ["HOWK_DELIVERY_FAST_TIMEOUT", "HOWK_DELIVERY_TIMEOUT"]
        .into_iter()
        .fold(Setup::quick(3, "x11."), |setup, name| setup.with(name, PATIENT));
    let mut scene = Scene::with(setup).await;
    let taking = Planned::delivered(Behaviour::TakesAfter(100));
    let servers = Arc::clone(&scene.servers);
    let churn = async {
        for turn in 0..4 {
            let (leaving, servers) = (turn % 2, Arc::clone(&servers));
            tokio::time::sleep(Duration::from_millis(700)).await;
            tokio::task::spawn_blocking(move || {
                servers.signal(leaving, Signal::Terminate);
                servers.start(leaving);
            })
            .await
            .unwrap();
        }
    };
    let (accepted, ()) = futures::join!(scene.post("x11", taking, (1500, 40)), churn);
    let balance = scene.stage.settle(&accepted).await;
    assert_eq!((balance.requests, balance.extra), (1500, 0), "{balance:?}");
}
