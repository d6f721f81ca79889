//! The lanes as functions: batches of events in, batch responses out, and what there is no time for.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use delivery::Fault;
use delivery::batch::Batch;
use delivery::deliver::Deliver;
use delivery::ports::log::{Extent, Log, Page};
use delivery::rebuild::Rebuild;
use domain::{Lane, Phase, Position, Record, Topic, WebhookId};
use howk_tests::endpoint::Reply;
use howk_tests::events::{Found, event, found, json};
use howk_tests::world::{World, settings, webhook};
use lambda_kit::{Handler, Invoked, LaneHandler};
use serde_json::{Value, json as value};
use settings::Settings;

use crate::URL;

pub(crate) const MARGIN: Duration = Duration::from_secs(1);

pub(crate) fn handler(world: &World, settings: &Settings) -> LaneHandler {
    handler_over(world.deliver(), world, settings)
}

pub(crate) fn handler_over(deliver: Arc<Deliver>, world: &World, settings: &Settings) -> LaneHandler {
    handler_with((deliver, Arc::clone(&world.system.rebuild)), settings)
}

pub(crate) fn handler_with((deliver, rebuild): (Arc<Deliver>, Arc<Rebuild>), settings: &Settings) -> LaneHandler {
    let concurrency = usize::try_from(settings.delivery.concurrency).unwrap();
    let per_key = usize::try_from(settings.kafka.per_key_parallelism).unwrap();
    LaneHandler::new(Lane::Fast, settings, Batch { deliver, rebuild, concurrency, per_key, failed: Arc::default() })
}

/// Invokes the handler for `lasting` with an event, and returns its answer as JSON.
pub(crate) fn invoke(
    world: &mut World,
    handler: &LaneHandler,
    event: &str,
    lasting: Duration,
) -> Result<Value, String> {
    let (handler, event) = (handler.clone(), event.to_owned());
    let invoked = Invoked::lasting_until(world.now().plus(lasting), MARGIN);
    let began = world.now();
    let answered = world.run(async move { handler.handle(&event, invoked).await });
    assert!(world.now().since(began) <= lasting, "it answers before its deadline");
    assert_eq!(world.endpoints.present(), 0, "nothing outlives an invocation");
    answered.map(|response| json(&response)).map_err(|failure| format!("{failure:?}"))
}

pub(crate) fn failures(answer: &Value) -> Vec<(String, u64)> {
    let failures = answer.get("batchItemFailures").and_then(Value::as_array).unwrap();
    let at = |item: &Value, part: &str| item.pointer(&format!("/itemIdentifier/{part}")).cloned().unwrap();
    let named = |item| (at(item, "partition").as_str().unwrap().to_owned(), at(item, "offset").as_u64().unwrap());
    failures.iter().map(named).collect()
}

fn names(found: &[Found]) -> Vec<(String, u64)> {
    found.iter().map(|one| (format!("howk.pending-{}", one.position.partition), one.position.offset)).collect()
}

pub(crate) fn tenants(count: usize, each: usize) -> Vec<delivery::enqueue::NewWebhook> {
    (0..count).flat_map(|tenant| vec![webhook(&format!("tenant-{tenant}"), URL); each]).collect()
}

pub(crate) fn ordered() -> Settings {
    let mut settings = settings();
    settings.kafka.per_key_parallelism = 0;
    settings
}

pub(crate) const MINUTE: Duration = Duration::from_mins(1);

#[test]
fn a_receivers_failure_never_fails_a_record() {
    let mut world = World::new(1, settings());
    world.endpoints.behave(|_, _, earlier| match earlier % 4 {
        0 => Reply::status(200, 5),
        1 => Reply::status(500, 5),
        2 => Reply::hang(),
        _ => Reply::refused(),
    });
    let ids = world.enqueue(tenants(8, 2));
    let found = found(&mut world, Topic::Pending);
    assert!(found.iter().any(|one| one.position.partition != found[0].position.partition), "several partitions");
    let handler = handler(&world, &settings());
    let answer = invoke(&mut world, &handler, &event("howk.pending", &found), MINUTE).unwrap();
    assert_eq!(answer, value!({ "batchItemFailures": [] }));
    assert_eq!(world.endpoints.seen().len(), ids.len());
    let again = invoke(&mut world, &handler, &event("howk.pending", &found), MINUTE).unwrap();
    assert_eq!(failures(&again), [], "a batch that comes twice");
    assert_eq!(world.endpoints.seen().len(), ids.len(), "is sent once");
}

#[test]
fn dl_1_what_howk_could_not_do_is_named_and_comes_again() {
    let mut world = World::new(1, settings());
    let ids = world.enqueue(tenants(3, 1));
    let found = found(&mut world, Topic::Pending);
    let (handler, event) = (handler(&world, &settings()), event("howk.pending", &found));
    world.outage.strike(&[Topic::Results]);
    let answer = invoke(&mut world, &handler, &event, MINUTE).unwrap();
    assert_eq!(failures(&answer), names(&found));
    world.outage.strike(&[]);
    world.pass(MINUTE);
    let answer = invoke(&mut world, &handler, &event, MINUTE).unwrap();
    assert_eq!(failures(&answer), []);
    for id in &ids {
        assert_eq!(world.status(id).unwrap().phase, Phase::Delivered);
    }
}

/// P19: an outage of the log that is over before the invocation is, and one that is not. An endpoint gets a
/// webhook that could not be settled once more at most, however often its batch comes meanwhile.
#[test]
fn p19_while_results_cannot_be_written_a_batch_that_comes_again_is_not_sent_again() {
    let mut world = World::new(1, settings());
    let ids = world.enqueue(tenants(3, 1));
    let found = found(&mut world, Topic::Pending);
    let (handler, event) = (handler(&world, &settings()), event("howk.pending", &found));
    world.outage.strike(&[Topic::Results]);
    let began = world.now();
    let answer = invoke(&mut world, &handler, &event, MINUTE).unwrap();
    assert_eq!(failures(&answer), names(&found));
    assert!(world.now().since(began) > MINUTE / 2, "it tries as long as it may, and no shorter than a claim lasts");
    for _ in 0..3 {
        world.pass(MINUTE);
        assert_eq!(failures(&invoke(&mut world, &handler, &event, MINUTE).unwrap()), names(&found));
    }
    assert_eq!(world.endpoints.seen().len(), 3, "no request is made whose result could not be stored");
    world.outage.strike(&[]);
    assert_eq!(failures(&invoke(&mut world, &handler, &event, MINUTE).unwrap()), []);
    assert_eq!(world.endpoints.seen().len(), 6);
    assert!(ids.iter().all(|id| world.status(id).is_some_and(|status| status.phase == Phase::Delivered)));
}

#[test]
fn dl_1_poison_becomes_dead_letters_and_blocks_nothing() {
    let mut world = World::new(1, settings());
    let ids = world.enqueue(tenants(1, 1));
    let mut found = found(&mut world, Topic::Pending);
    let partition = found[0].position.partition;
    for (offset, value) in [(90, Some(b"not json".to_vec())), (91, Some(Vec::new())), (92, None)] {
        found.push(Found { position: Position { partition, offset }, key: None, value, headers: Vec::new() });
    }
    let handler = handler(&world, &settings());
    let answer = invoke(&mut world, &handler, &event("howk.pending", &found), MINUTE).unwrap();
    assert_eq!(failures(&answer), []);
    assert_eq!(crate::count(&world, |record| matches!(record, Record::Undecodable(_))), 3);
    assert_eq!(world.status(&ids[0]).unwrap().phase, Phase::Delivered);
}

#[test]
fn records_of_a_tenant_keep_their_order_and_tenants_do_not_wait_for_each_other() {
    let settings = ordered();
    let mut world = World::new(1, settings.clone());
    world.endpoints.behave(|_, _, _| Reply::status(200, 100));
    let ids = world.enqueue(tenants(3, 4));
    let found = found(&mut world, Topic::Pending);
    let began = world.now();
    let handler = handler(&world, &settings);
    assert_eq!(failures(&invoke(&mut world, &handler, &event("howk.pending", &found), MINUTE).unwrap()), []);
    assert_eq!(world.now().since(began), Duration::from_millis(400), "three tenants beside each other");
    for tenant in ids.chunks(4) {
        let seen: Vec<_> = world.endpoints.seen().into_iter().map(|seen| seen.id).collect();
        let order: Vec<_> = seen.iter().filter(|id| tenant.iter().any(|own| own.as_str() == id.as_str())).collect();
        assert_eq!(order, tenant.iter().map(WebhookId::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn no_more_requests_are_under_way_than_the_concurrency() {
    let mut settings = ordered();
    settings.delivery.concurrency = 3;
    let mut world = World::new(1, settings.clone());
    world.endpoints.behave(|_, _, _| Reply::status(200, 100));
    world.enqueue(tenants(8, 1));
    let found = found(&mut world, Topic::Pending);
    let began = world.now();
    let handler = handler(&world, &settings);
    assert_eq!(failures(&invoke(&mut world, &handler, &event("howk.pending", &found), MINUTE).unwrap()), []);
    assert_eq!(world.now().since(began), Duration::from_millis(300), "eight requests, three at once");
}

#[test]
fn where_order_counts_nothing_overtakes_what_could_not_be_settled() {
    let settings = ordered();
    let mut world = World::new(1, settings.clone());
    world.enqueue(tenants(2, 3));
    let found = found(&mut world, Topic::Pending);
    let handler = handler(&world, &settings);
    world.outage.strike(&[Topic::Results]);
    let answer = invoke(&mut world, &handler, &event("howk.pending", &found), MINUTE).unwrap();
    assert_eq!(failures(&answer), names(&found));
    assert_eq!(world.endpoints.seen().len(), 2, "the first of each tenant alone was tried");
}

#[test]
fn what_there_is_no_time_for_is_not_begun() {
    let mut settings = ordered();
    settings.delivery.concurrency = 1;
    let mut world = World::new(1, settings.clone());
    world.endpoints.behave(|_, _, _| Reply::status(200, 4000));
    world.enqueue(tenants(1, 20));
    let found = found(&mut world, Topic::Pending);
    let handler = handler(&world, &settings);
    let answer = invoke(&mut world, &handler, &event("howk.pending", &found), MINUTE).unwrap();
    // A request may take 5 s and settling 5 s: the last one begins by 49 s, a second before the deadline being kept free.
    let begun = world.endpoints.seen().len();
    assert_eq!(begun, 13);
    assert_eq!(failures(&answer), names(&found[begun..]));
    assert_eq!(world.endpoints.aborted(), 0);
}

#[test]
fn while_the_hot_state_is_lost_everything_is_redelivered() {
    let mut world = World::new(1, settings());
    world.enqueue(tenants(2, 2));
    let found = found(&mut world, Topic::Pending);
    world.lose_hot_state();
    let handler = handler(&world, &settings());
    let answer = invoke(&mut world, &handler, &event("howk.pending", &found), MINUTE).unwrap();
    assert_eq!(failures(&answer), names(&found));
    assert_eq!(world.endpoints.seen().len(), 0);
    world.rebuild();
    let answer = invoke(&mut world, &handler, &event("howk.pending", &found), MINUTE).unwrap();
    assert_eq!((failures(&answer), world.endpoints.seen().len()), (vec![], 4));
}

#[test]
fn an_event_that_is_malformed_or_of_another_topic_fails_untouched() {
    let mut world = World::new(1, settings());
    world.enqueue(tenants(1, 1));
    let found = found(&mut world, Topic::Pending);
    let handler = handler(&world, &settings());
    let elsewhere = event("howk.results", &found);
    for (event, expected) in [
        (elsewhere.as_str(), "howk.malformed_event: records.howk.results-"),
        ("{\"records\":{\"howk.pending-0\":[{}]}}", "howk.malformed_event: records.howk.pending-0[0]: missing field"),
    ] {
        let failed = invoke(&mut world, &handler, event, MINUTE).unwrap_err();
        assert!(failed.starts_with(expected), "{failed}");
    }
    assert_eq!(world.witness.published().len(), 1, "nothing was dead-lettered");
}

#[test]
fn an_invocation_that_is_too_short_for_a_last_attempt_begins_nothing() {
    let mut world = World::new(1, settings());
    world.enqueue(tenants(1, 1));
    let found = found(&mut world, Topic::Pending);
    let handler = handler(&world, &settings());
    let (event, short) = (event("howk.pending", &found), Duration::from_secs(35));
    assert_eq!(failures(&invoke(&mut world, &handler, &event, short).unwrap()), names(&found));
    assert_eq!(failures(&invoke(&mut world, &handler, &event, short + MARGIN).unwrap()), []);
}

/// A log that never answers for results, as a broker that hangs does.
struct Stuck(Arc<dyn Log>);

#[async_trait]
impl Log for Stuck {
    async fn publish(&self, records: Vec<Record>) -> Result<Vec<Position>, Fault> {
        if records.iter().any(|record| record.topic() == Topic::Results) {
            futures::future::pending::<()>().await;
        }
        self.0.publish(records).await
    }

    async fn extents(&self, topic: Topic) -> Result<Vec<Extent>, Fault> {
        self.0.extents(topic).await
    }

    async fn read(&self, topic: Topic, from: Position, limit: usize) -> Result<Page, Fault> {
        self.0.read(topic, from, limit).await
    }

    async fn lag(&self, topic: Topic) -> Result<u64, Fault> {
        self.0.lag(topic).await
    }
}

#[test]
fn what_hangs_at_the_deadline_is_dropped_and_named() {
    let mut world = World::new(1, settings());
    let ids = world.enqueue(tenants(2, 1));
    let found = found(&mut world, Topic::Pending);
    let log = Arc::new(Stuck(Arc::clone(&world.system.backend.log)));
    let stuck = handler_over(Arc::new(Deliver { log, ..(*world.deliver()).clone() }), &world, &settings());
    let event = event("howk.pending", &found);
    assert_eq!(failures(&invoke(&mut world, &stuck, &event, MINUTE).unwrap()), names(&found));
    let well = handler(&world, &settings());
    assert_eq!(failures(&invoke(&mut world, &well, &event, MINUTE).unwrap()), []);
    for id in &ids {
        assert_eq!(world.status(id).unwrap().phase, Phase::Delivered);
    }
    assert_eq!(world.endpoints.seen().len(), 4, "each was sent again, by a takeover");
}
