//! An event source without partial responses: records for which there is no time are republished to the log.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use delivery::Fault;
use delivery::deliver::Deliver;
use delivery::ports::log::{Extent, Log, Page};
use delivery::ports::recovery::{Cursor, Epoch, Recovery};
use delivery::ports::stats::{Counts, Hour, HourlyStats, Stats};
use delivery::ports::time::Clock;
use delivery::rebuild::Rebuild;
use delivery::stats_buffer::StatsBuffer;
use domain::{ClaimHolder, Fence, Phase, Position, Record, Timestamp, Topic};
use howk_tests::endpoint::Reply;
use howk_tests::events::{event, found};
use howk_tests::world::{World, webhook};
use testkit::clock::ManualClock;

use crate::URL;
use crate::invocations::{MARGIN, MINUTE, failures, handler, handler_over, handler_with, invoke, ordered, tenants};

#[test]
fn without_partial_responses_late_records_go_back_to_the_log_and_faults_fail_the_batch() {
    let mut settings = ordered();
    settings.delivery.concurrency = 1;
    settings.lambda.partial_responses = false;
    let mut world = World::new(1, settings.clone());
    world.endpoints.behave(|_, _, _| Reply::status(200, 4000));
    let ids = world.enqueue(tenants(1, 20));
    let batch = found(&mut world, Topic::Pending);
    let handler = handler(&world, &settings);
    let answer = invoke(&mut world, &handler, &event("howk.pending", &batch), MINUTE).unwrap();
    assert_eq!(failures(&answer), [], "the batch may be acknowledged");
    let all = found(&mut world, Topic::Pending);
    let again: Vec<_> = all.into_iter().filter(|one| one.position.offset >= 20).collect();
    // Earlier by 5 s than an invocation that can name the records it leaves.
    assert_eq!(again.len(), 8, "what was not begun stands at the log's end");
    invoke(&mut world, &handler, &event("howk.pending", &batch), MINUTE).unwrap();
    let seen = world.endpoints.seen();
    assert_eq!(seen.len(), 20, "where the process died before the acknowledgement, the batch comes again");
    assert_eq!(failures(&invoke(&mut world, &handler, &event("howk.pending", &again), MINUTE).unwrap()), []);
    assert_eq!(
        world.endpoints.seen().len(),
        20,
        "and a republished record is dropped as a duplicate of its dispatch"
    );
    assert!(ids.iter().all(|id| world.status(id).is_some_and(|status| status.phase == Phase::Delivered)));

    world.enqueue(tenants(1, 1));
    let last = found(&mut world, Topic::Pending).pop().unwrap();
    world.outage.strike(&[Topic::Results]);
    let failed = invoke(&mut world, &handler, &event("howk.pending", &[last]), MINUTE).unwrap_err();
    assert_eq!(failed, "howk.fault.transient: the log is out of reach");
}

/// A broker that takes as long for a hand-over as a publish may, while the store hangs.
#[test]
fn republishing_has_the_time_of_a_publish_before_any_statistics() {
    let mut settings = ordered();
    settings.delivery.concurrency = 1;
    settings.lambda.partial_responses = false;
    let mut world = World::new(1, settings.clone());
    world.endpoints.behave(|_, _, _| Reply::status(200, 4000));
    world.enqueue(tenants(1, 20));
    let (batch, began) = (found(&mut world, Topic::Pending), world.now());
    let log = Arc::new(Slow { log: Arc::clone(&world.system.backend.log), clock: Arc::clone(&world.clock) });
    let deliver = Deliver { log, stats: Arc::new(StatsBuffer::new(Arc::new(Hanging))), ..(*world.deliver()).clone() };
    let handler = handler_over(Arc::new(deliver), &world, &settings);
    let answer = invoke(&mut world, &handler, &event("howk.pending", &batch), MINUTE).unwrap();
    assert_eq!(failures(&answer), []);
    let sent = u32::try_from(world.endpoints.seen().len()).unwrap();
    assert_eq!(found(&mut world, Topic::Pending).len(), 40 - world.endpoints.seen().len());
    let statistics = Duration::from_millis(500);
    assert_eq!(world.now().since(began), Duration::from_secs(4) * sent + PUBLISH_MAX + statistics);
}

/// An invocation that has no time beside its requests makes them all the same.
#[test]
fn an_invocation_without_time_to_republish_still_sends() {
    let mut settings = ordered();
    settings.lambda.partial_responses = false;
    let mut world = World::new(1, settings.clone());
    world.enqueue(tenants(1, 1));
    let (batch, handler) = (found(&mut world, Topic::Pending), handler(&world, &settings));
    let shortest = Duration::from_secs(35) + MARGIN;
    assert_eq!(failures(&invoke(&mut world, &handler, &event("howk.pending", &batch), shortest).unwrap()), []);
    assert_eq!(world.endpoints.seen().len(), 1);
}

/// The store is slow to say that it is rebuilt. However little time remains to republish anything, a request that may last
/// longest can be begun after that; else the same record would be published again for ever.
#[test]
fn the_time_kept_for_republishing_leaves_time_to_begin() {
    for spare in [2, 4, 5, 7, 9] {
        let mut settings = ordered();
        settings.lambda.partial_responses = false;
        let mut world = World::new(1, settings.clone());
        let mut new = webhook("tenant", URL);
        new.max_attempts = 1;
        world.enqueue(vec![new]);
        let batch = found(&mut world, Topic::Pending);
        let known = Arc::clone(&world.system.rebuild);
        let recovery = Arc::new(Unhurried { recovery: Arc::clone(&known.recovery), clock: Arc::clone(&world.clock) });
        let rebuild = Arc::new(Rebuild { recovery, ..(*known).clone() });
        let handler = handler_with((world.deliver(), rebuild), &settings);
        let lasting = Duration::from_secs(35 + spare) + MARGIN;
        let answer = invoke(&mut world, &handler, &event("howk.pending", &batch), lasting);
        assert_eq!(failures(&answer.unwrap()), [], "{spare} s");
        let sent = world.endpoints.seen().len();
        assert_eq!((sent, found(&mut world, Topic::Pending).len()), (1, 1), "{spare} s: sent, not published again");
    }
}

/// As long as a publish may take.
const PUBLISH_MAX: Duration = Duration::from_secs(10);

/// A log that is slow to take dispatches.
struct Slow {
    log: Arc<dyn Log>,
    clock: Arc<ManualClock>,
}

#[async_trait]
impl Log for Slow {
    async fn publish(&self, records: Vec<Record>) -> Result<Vec<Position>, Fault> {
        if records.iter().any(|record| matches!(record, Record::Dispatch(..))) {
            self.clock.sleep(PUBLISH_MAX).await;
        }
        self.log.publish(records).await
    }

    async fn extents(&self, topic: Topic) -> Result<Vec<Extent>, Fault> {
        self.log.extents(topic).await
    }

    async fn read(&self, topic: Topic, from: Position, limit: usize) -> Result<Page, Fault> {
        self.log.read(topic, from, limit).await
    }

    async fn lag(&self, topic: Topic) -> Result<u64, Fault> {
        self.log.lag(topic).await
    }
}

/// A store that takes no statistics.
struct Hanging;

#[async_trait]
impl Stats for Hanging {
    async fn add(&self, _: Hour, _: &HourlyStats) -> Result<(), Fault> {
        futures::future::pending().await
    }

    async fn sum(&self, _: &[Hour]) -> Result<(Counts, u64), Fault> {
        futures::future::pending().await
    }
}

/// A store that answers in a second, less than an invocation has to begin.
struct Unhurried {
    recovery: Arc<dyn Recovery>,
    clock: Arc<ManualClock>,
}

#[async_trait]
impl Recovery for Unhurried {
    async fn epoch(&self) -> Result<Option<Epoch>, Fault> {
        self.clock.sleep(Duration::from_secs(1)).await;
        self.recovery.epoch().await
    }

    async fn lock(
        &self,
        holder: &ClaimHolder,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<(Fence, Cursor)>, Fault> {
        self.recovery.lock(holder, now, until).await
    }

    async fn advance(&self, fence: Fence, cursor: &Cursor) -> Result<bool, Fault> {
        self.recovery.advance(fence, cursor).await
    }

    async fn complete(&self, fence: Fence, epoch: &Epoch) -> Result<bool, Fault> {
        self.recovery.complete(fence, epoch).await
    }

    async fn fingerprint(&self) -> Result<u64, Fault> {
        self.recovery.fingerprint().await
    }
}
