//! How many requests are made, and how many at once.

use howk_tests::rig::load::{Accepted, Planned};
use howk_tests::rig::receiver::Behaviour;
use howk_tests::rig::servers::Setup;

use super::scene::Scene;

/// The full timeout, in milliseconds.
const TIMEOUT_MS: u32 = 2000;

/// P8: an endpoint that takes as long as the claim's request may, a second less and a second more. A claim outlives its
/// request, so of each webhook one request is under way at most, on two servers and across timeouts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p8_of_one_webhook_one_request_is_under_way_at_most() {
    let setup = Setup::quick(2, "p8.").with("HOWK_DELIVERY_TIMEOUT", &format!("{TIMEOUT_MS}ms"));
    let mut scene = Scene::with(setup).await;
    let mut accepted = Vec::new();
    for (name, planned) in [
        ("less", Planned::delivered(Behaviour::TakesAfter(TIMEOUT_MS - 1000))),
        ("almost", Planned::dead(Behaviour::TakesAfter(TIMEOUT_MS + 50), 3)),
        ("more", Planned::dead(Behaviour::TakesAfter(TIMEOUT_MS + 1000), 3)),
    ] {
        accepted.extend(scene.post(name, planned, (10, 2)).await);
    }
    scene.stage.settle(&accepted).await;
    for Accepted { id, planned } in &accepted {
        assert_eq!(scene.stage.receiver.peak(id.as_str()), 1, "{id}, {:?}", planned.behaviour);
    }
}

/// P14: as many requests as attempts are allowed, none more and none less.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p14_as_many_requests_as_attempts_are_allowed() {
    let setup = Setup::quick(2, "p14.")
        .with("HOWK_RETRY_BASE_DELAY", "20ms")
        .with("HOWK_RETRY_MAX_DELAY", "100ms")
        .with("HOWK_CIRCUIT_BREAKER_FAILURE_THRESHOLD", "1000000");
    let mut scene = Scene::with(setup).await;
    let mut accepted = Vec::new();
    for max_attempts in [1, 26, 100] {
        let broken = Planned::dead(Behaviour::Broken, max_attempts);
        accepted.extend(scene.post(&format!("p14-{max_attempts}"), broken, (5, 5)).await);
    }
    let balance = scene.stage.settle(&accepted).await;
    assert_eq!((balance.requests, balance.extra), (635, 0));
    let requests = scene.stage.receiver.requests();
    for Accepted { id, planned } in &accepted {
        assert_eq!(requests[id.as_str()].values().sum::<u32>(), planned.max_attempts, "{id}");
    }
}
