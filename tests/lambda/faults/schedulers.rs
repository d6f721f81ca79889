//! More than one scheduler at once.

use std::time::Duration;

use howk_local::lambda::Phase;
use howk_tests::rig::load::Planned;
use howk_tests::rig::receiver::Behaviour;

use super::scene::{Scene, quick};
use crate::rig::{some, until};

/// Longer than a scheduler's lease lasts.
const BEYOND_ITS_LEASE: Duration = Duration::from_secs(4);

/// Each tick is handed over twice, and a frozen scheduler goes on when another one holds the lease. Each due webhook is
/// released, and requested once for each of its attempts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_schedulers_at_once_release_everything_once() {
    let scene = Scene::with(quick("two"), |_, config| config.spec.schedule("scheduler").unwrap().copies = 2).await;
    let busy = || scene.functions.environments("scheduler").iter().filter(|one| one.phase == Phase::Busy).count();
    until("two run at once", async || busy() >= 2).await;
    let failing = Planned::delivered(Behaviour::Fails(2));
    let mut accepted = scene.post("before", failing.clone(), (200, 100)).await;
    let frozen = some("a scheduler at work", async || scene.functions.at_work("scheduler")).await;
    let lambda = scene.functions.stack.lambda();
    assert!(lambda.freeze(frozen));
    accepted.extend(scene.post("meanwhile", failing, (200, 100)).await);
    tokio::time::sleep(BEYOND_ITS_LEASE).await;
    lambda.thaw(frozen);
    let balance = scene.settle(&accepted).await;
    assert_eq!((balance.requests, balance.extra), (1200, 0), "{:?}", balance.causes);
}
