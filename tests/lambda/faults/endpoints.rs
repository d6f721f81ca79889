//! An endpoint that hangs, beside others that are healthy.

use domain::ReasonType;
use howk_tests::rig::load::{Accepted, End, Planned};
use howk_tests::rig::receiver::Behaviour;

use super::scene::{Scene, quick};

const ATTEMPTS: u32 = 2;
/// Few: once the circuit is open, one probe after the other hangs until its timeout.
const HANGING: usize = 6;

/// One endpoint never answers. All others go on, long before it is given up; its webhooks end as dead letters, with every
/// request recorded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_hangs_on_every_connection_delays_no_other_endpoint() {
    let mut scene = Scene::with(quick("hangs").with("HOWK_DELIVERY_TIMEOUT", "3s"), |_, _| {}).await;
    let hanging = scene.post("hangs", Planned::dead(Behaviour::Hangs, ATTEMPTS), (HANGING, 1)).await;
    let well = scene.post("well", Planned::delivered(Behaviour::Takes), (400, 40)).await;
    scene.stage.wait_for_the_end(&well).await;
    let entries = &scene.stage.ledger.entries;
    let given_up = hanging.iter().filter(|one| entries.get(&one.id).is_some_and(|entry| entry.dead)).count();
    assert_eq!(given_up, 0, "the others did not wait for those that hang");
    scene.stage.wait_for_the_end(&hanging).await;
    for Accepted { id, planned } in &hanging {
        let entry = &scene.stage.ledger.entries[id];
        assert_eq!((planned.end, &entry.dead_letters[..]), (End::Dead, &[ReasonType::Exhausted][..]));
        let numbers: Vec<u32> = entry.attempts.iter().map(|attempt| attempt.number).collect();
        assert_eq!(numbers, [1, 2], "{id}: {entry:?}");
        assert!(
            entry.attempts.iter().all(|attempt| attempt.status.is_none() && attempt.error.is_some()),
            "{entry:?}"
        );
    }
    let all: Vec<Accepted> = hanging.into_iter().chain(well).collect();
    let balance = scene.settle(&all).await;
    assert_eq!((balance.requests, balance.extra), (412, 0));
}
