//! Load and faults from one seed. `HOWK_FAULT_SEED` repeats a run, `HOWK_FAULT_WEBHOOKS`, `HOWK_FAULT_FAULTS` and
//! `HOWK_FAULT_KAFKA_DOWN` (seconds) make it longer.

use std::sync::Arc;
use std::time::Duration;

use howk_tests::rig::ledger::Ledger;
use howk_tests::rig::pair::{number, say, turn};
use howk_tests::rig::receiver::Receiver;
use howk_tests::rig::run::{Size, Stage, client};
use howk_tests::rig::servers::{Servers, Setup};
use howk_tests::rig::traces;

const SERVERS: usize = 3;

/// P9, P10, P12, P13, P15, P19, X4, X6, X11, X12, X13, Y1: whatever is killed, stopped, paused or lost, every accepted
/// webhook ends as it must, and a request too many says why it was made (DL-1, DL-2, LN-1).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_accepted_ends_whatever_fails() {
    let size = Size {
        seed: number("HOWK_FAULT_SEED", u64::from(std::process::id())),
        webhooks: usize::try_from(number("HOWK_FAULT_WEBHOOKS", 10_000)).unwrap(),
        faults: usize::try_from(number("HOWK_FAULT_FAULTS", 50)).unwrap(),
        kafka_down: Duration::from_secs(number("HOWK_FAULT_KAFKA_DOWN", 8)),
    };
    say(&format!("{size:?}; HOWK_FAULT_SEED={} repeats this run", size.seed));
    let turn = turn().await;
    let servers = Servers::start(&turn, Setup::quick(SERVERS, "run.")).await;
    let ledger = Ledger::open(&turn, servers.setup()).await;
    let receiver = Arc::new(Receiver::start().await);
    let servers = Arc::new(servers);
    let client = client();
    let mut stage = Stage { howk: Arc::<Servers>::clone(&servers), pair: turn.clone(), receiver, ledger, client };
    let balance = stage.run(size).await;
    say(&format!(
        "{} webhooks, {} requests, {} of them extra, causes {:?}",
        balance.accepted, balance.requests, balance.extra, balance.causes
    ));
    let lines: usize = (0..SERVERS).map(|server| servers.log(server).lines().count()).sum();
    say(&format!("{lines} lines of log"));
    assert_eq!(balance.accepted, size.webhooks);
    assert_eq!(traces::undocumented_keys(&turn), Vec::<String>::new());
    let some = &balance.mistakes[..balance.mistakes.len().min(5)];
    assert!(some.is_empty(), "seed {}: {} mistakes, such as {some:#?}", size.seed, balance.mistakes.len());
}
