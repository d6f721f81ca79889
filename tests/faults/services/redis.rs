//! The store goes away, is emptied, or is replaced.

use std::time::Duration;

use howk_tests::rig::load::Planned;
use howk_tests::rig::pair::{Pair, Service, Signal};
use howk_tests::rig::receiver::Behaviour;

use super::scene::{Scene, until};

/// Webhooks that are under way when something happens.
const COUNT: usize = 400;
/// Warnings and errors that one server may log in a second in which the store does not answer.
const COMPLAINTS_A_SECOND: usize = 60;

async fn ready(scene: &Scene, status: u16) {
    let wanted = Some(status.try_into().unwrap());
    until(&format!("/ready answers {status}"), async || scene.status_of(0, "/ready").await == wanted).await;
}

/// P12, X6: the store does not answer while webhooks come in. `/ready` and `/health` turn red, what is read is tried
/// again in the same session, and all of it is committed in the end. No busy loop of complaints.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p12_x6_a_store_that_does_not_answer_holds_work_up_and_loses_none() {
    let mut scene = Scene::start(2, "p12a").await;
    let process = scene.servers.process(0);
    scene.pair.signal(Service::Redis, Signal::Stop);
    let accepted = scene.post("p12a", Planned::delivered(Behaviour::Takes), (COUNT, 40)).await;
    ready(&scene, 503).await;
    assert_eq!(scene.status_of(0, "/health").await, Some(503.try_into().unwrap()));
    let before = scene.complaints(0);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let complaints = scene.complaints(0) - before;
    assert!(complaints <= COMPLAINTS_A_SECOND * 5, "{complaints} lines in 5 s");
    scene.pair.signal(Service::Redis, Signal::Continue);
    ready(&scene, 200).await;
    scene.stage.settle(&accepted).await;
    assert_eq!(scene.servers.process(0), process, "the server is the same process");
}

/// P12, Y1: the store is emptied and replaced under load, again and again. Every time the lanes hold until it is
/// rebuilt; no operator has to do anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p12_y1_a_lost_store_heals_itself_under_load() {
    let mut scene = Scene::start(2, "p12b").await;
    let mut accepted = Vec::new();
    let losses: [fn(&Pair); 2] = [Pair::flush, |pair| {
        pair.kill(Service::Redis);
        pair.start_again(Service::Redis);
    }];
    for (round, lose) in losses.into_iter().cycle().take(4).enumerate() {
        let failing = Planned::delivered(Behaviour::Fails(2));
        accepted.extend(scene.post(&format!("p12b-{round}"), failing, (COUNT / 4, 40)).await);
        let pair = scene.pair.clone();
        tokio::task::spawn_blocking(move || lose(&pair)).await.unwrap();
        ready(&scene, 200).await;
    }
    scene.stage.settle(&accepted).await;
}
