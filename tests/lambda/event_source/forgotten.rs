//! Event sources whose cluster returns an empty list of brokers while it is coming back: their clients may then forget
//! every broker for good.

use std::sync::LazyLock;
use std::time::Duration;

use howk_local::event_source::EventSource;
use howk_local::spec::EventSourceSpec;
use howk_tests::rig::proxy::{self, Names, Proxy};
use tokio::sync::Mutex;

use super::{Topic, brokers, numbers};
use crate::emulator::{Emulator, Reply};

/// The proxy, which one test at a time uses.
static PROXY: LazyLock<Mutex<Proxy>> = LazyLock::new(|| Mutex::new(Proxy::start(ports())));

/// How often a test repeats it: not every client forgets its brokers.
const ROUNDS: usize = 4;
/// How long the list of brokers is empty.
const HIDDEN: Duration = Duration::from_secs(2);
/// How long a source may take to notice, and to go on with another client.
const TIMEOUT: Duration = Duration::from_secs(90);
const TICK: Duration = Duration::from_millis(50);

fn ports() -> (u16, u16) {
    proxy::ports(&brokers()[0])
}

fn source(topic: &Topic, emulator: &Emulator) -> EventSource {
    let spec = EventSourceSpec { batch_size: 1, window: Duration::ZERO, ..topic.spec() };
    topic.source_at(vec![format!("127.0.0.1:{}", ports().1)], spec, emulator)
}

/// Returns an empty list of brokers for a while, to clients that connect anew.
async fn hide(proxy: &Proxy) {
    proxy.name(Names::NoBroker);
    proxy.cut();
    tokio::time::sleep(HIDDEN).await;
    proxy.name(Names::Brokers);
}

/// Waits until the group has committed up to an offset.
async fn until_committed(topic: &Topic, next: usize, what: &str) {
    let next = i64::try_from(next).unwrap();
    let committed = async {
        while topic.committed(0) != Some(next) {
            tokio::time::sleep(TICK).await;
        }
    };
    let is_committed = tokio::time::timeout(TIMEOUT, committed).await.is_ok();
    assert!(is_committed, "{what}: the group stands at {:?}, not at {next}", topic.committed(0));
}

/// The poller waits for its commit, and takes no records of the backlog meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn p13_a_commit_is_made_when_the_client_forgot_every_broker_behind_a_backlog() {
    let proxy = PROXY.lock().await;
    let (topic, emulator) = (Topic::new(1).await, Emulator::start([Reply::Held]).await);
    let backlog = ROUNDS + 20;
    topic.write_all(0, numbers(0..backlog)).await;
    let source = source(&topic, &emulator);
    for round in 1..=ROUNDS {
        emulator.asked_times(round).await;
        hide(&proxy).await;
        emulator.let_go();
        until_committed(&topic, round, &format!("round {round}")).await;
    }
    (ROUNDS..backlog).for_each(|_| emulator.let_go());
    until_committed(&topic, backlog, "the rest").await;
    assert_eq!(emulator.asked().len(), backlog, "each record came once");
    drop(source);
}

#[tokio::test(flavor = "multi_thread")]
async fn p13_a_source_finds_its_topic_when_the_client_that_looks_for_it_forgot_every_broker() {
    let proxy = PROXY.lock().await;
    let emulator = Emulator::start([]).await;
    for round in 1..=ROUNDS {
        let topic = Topic::named(1);
        let _source = source(&topic, &emulator);
        hide(&proxy).await;
        topic.make().await;
        topic.write(0, "first").await;
        until_committed(&topic, 1, &format!("round {round}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p13_a_source_begins_when_its_first_client_forgot_every_broker() {
    let proxy = PROXY.lock().await;
    let (topic, emulator) = (Topic::new(1).await, Emulator::start([]).await);
    for round in 1..=ROUNDS {
        topic.write(0, &round.to_string()).await;
        proxy.name(Names::NoBroker);
        let _source = source(&topic, &emulator);
        hide(&proxy).await;
        until_committed(&topic, round, &format!("round {round}")).await;
    }
}
