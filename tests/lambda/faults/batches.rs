//! Batches that are handed over more than once, and batches that can't be decoded.

use std::sync::Arc;
use std::time::Duration;

use clock_system::SystemClock;
use futures::future::join_all;
use howk_local::event_source::{EventSource, SourceConfig};
use howk_local::invoker::{Invoked, Invoker};
use howk_local::spec::EventSourceSpec;
use howk_tests::rig::load::Planned;
use howk_tests::rig::poison::Poisoner;
use howk_tests::rig::receiver::Behaviour;

use super::scene::Scene;
use crate::emulator::Emulator;
use crate::rig::until;

const COUNT: usize = 100;
/// Poison in one batch: as many records as the event source of the fast lane puts into one.
const POISON: u64 = 100;

/// The events of every record that waits for the fast lane, made by another event source.
async fn events(scene: &Scene) -> Vec<String> {
    let emulator = Emulator::start([]).await;
    let source = EventSource::start(SourceConfig {
        spec: EventSourceSpec {
            window: Duration::from_millis(200),
            ..EventSourceSpec::new("fast-lane", scene.setup.topics().pending)
        },
        brokers: vec![scene.pair.brokers()],
        group: "another".to_owned(),
        invoker: emulator.invoker.clone(),
        clock: Arc::new(SystemClock),
    });
    let source = source.unwrap();
    let all = u64::try_from(COUNT).unwrap();
    until("every record is in an event", async || source.control().state().records >= all).await;
    source.stop(&SystemClock).await;
    emulator.asked().into_iter().map(|asked| asked.event.to_string()).collect()
}

/// Every batch comes three times: twice at the same moment, and once more when all of it is settled. Each webhook's
/// attempts are requested once all the same (CL-1).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_comes_three_times_two_of_them_at_once_is_sent_once() {
    let scene = Scene::start("twice").await;
    scene.source("fast-lane").pause();
    let mut accepted = Vec::new();
    for behaviour in [Behaviour::TakesAfter(200), Behaviour::Fails(1)] {
        accepted.extend(scene.post(&format!("{behaviour:?}"), Planned::delivered(behaviour), (COUNT / 2, 20)).await);
    }
    let events = events(&scene).await;
    let invoker = Invoker::new(&*scene.functions.stack.lambda_url).unwrap();
    let at_once = events.iter().chain(&events).map(|event| invoker.invoke("fast-lane", event.clone()));
    for answer in join_all(at_once).await {
        let Invoked::Answered(answer) = answer else { panic!("{answer:?}") };
        assert_eq!(answer, r#"{"batchItemFailures":[]}"#, "a duplicate is no failure");
    }
    scene.source("fast-lane").resume();
    let balance = scene.settle(&accepted).await;
    assert_eq!((balance.requests, balance.extra), (150, 0), "{:?}", balance.causes);
}

/// A batch whose every record is poison succeeds: each record becomes a dead letter with a reason, and webhooks after
/// it are delivered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_of_nothing_but_poison_becomes_dead_letters_and_blocks_no_webhook() {
    let mut scene = Scene::start("poison").await;
    let topics = scene.setup.topics();
    let source = scene.source("fast-lane");
    source.pause();
    let poisoner = Poisoner::new(&scene.pair, [topics.pending.clone(), topics.pending], 7);
    tokio::task::spawn_blocking(move || poisoner.write_all(POISON, 0)).await.unwrap();
    source.resume();
    until("every record is handled", async || source.state().records >= POISON && source.state().lag == 0).await;
    let ledger = &mut scene.stage.ledger;
    ledger.read_on().await.unwrap();
    assert_eq!(u64::try_from(ledger.undecodable.len()).unwrap(), POISON, "each has its dead letter");
    assert!(ledger.reasons.keys().all(|reason| !reason.is_empty()), "{:?}", ledger.reasons);
    let state = source.state();
    assert_eq!((state.errors, state.item_failures, state.given_up), (0, 0, 0), "{state:?}");
    let accepted = scene.post("good", Planned::delivered(Behaviour::Takes), (COUNT, 20)).await;
    let balance = scene.settle(&accepted).await;
    assert_eq!((balance.requests, balance.extra), (100, 0));
}
