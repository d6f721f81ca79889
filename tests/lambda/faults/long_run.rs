//! Load and faults from one seed, through the functions. `HOWK_FAULT_SEED` repeats a run; `HOWK_LAMBDA_WEBHOOKS`,
//! `HOWK_LAMBDA_FAULTS` and `HOWK_FAULT_KAFKA_DOWN` (seconds) make it longer: 10000 and 50 are as long as the run of
//! `tests/faults`.

use std::time::Duration;

use howk_tests::rig::pair::{number, say};
use howk_tests::rig::run::Size;
use howk_tests::rig::traces;

use super::scene::Scene;

/// DL-1, DL-2, LN-1: whatever is killed, frozen, stopped, paused or lost, every accepted webhook ends as it must, and a
/// request too many has a cause.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_accepted_ends_whatever_fails() {
    let size = Size {
        seed: number("HOWK_FAULT_SEED", u64::from(std::process::id())),
        webhooks: usize::try_from(number("HOWK_LAMBDA_WEBHOOKS", 1000)).unwrap(),
        faults: usize::try_from(number("HOWK_LAMBDA_FAULTS", 11)).unwrap(),
        kafka_down: Duration::from_secs(number("HOWK_FAULT_KAFKA_DOWN", 3)),
    };
    say(&format!("{size:?}; HOWK_FAULT_SEED={} repeats this run", size.seed));
    let mut scene = Scene::start("long").await;
    let balance = scene.stage.run(size).await;
    say(&format!(
        "{} webhooks, {} requests, {} of them extra, causes {:?}",
        balance.accepted, balance.requests, balance.extra, balance.causes
    ));
    assert_eq!(balance.accepted, size.webhooks);
    assert_eq!(traces::undocumented_keys(&scene.stage.pair), Vec::<String>::new());
    let some = &balance.mistakes[..balance.mistakes.len().min(5)];
    assert!(some.is_empty(), "seed {}: {} mistakes, such as {some:#?}", size.seed, balance.mistakes.len());
    scene.end().await;
}
