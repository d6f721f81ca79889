//! The hot state is lost and rebuilt.

use std::sync::Arc;

use std::time::Duration;

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::dead_letters::DeadLetterFilter;
use delivery::ports::endpoints::Endpoints;
use delivery::ports::hot_state::{Change, HotState};
use delivery::ports::log::{Extent, Log, Page};
use delivery::rebuild::{Rebuild, When};
use domain::{Cause, ClaimHolder, Endpoint, Phase, Position, Record, Topic, Transition, Write};
use howk_tests::endpoint::Reply;
use howk_tests::world::{BEGIN, World, settings};

use crate::{HOUR, MINUTE, URL, count, enqueue, enqueue_many, phase, world};

#[test]
fn rb_1_a_rebuild_restores_exactly_what_waited() {
    let mut world = world(500);
    let mut new: Vec<_> = (0..200).map(|n| howk_tests::world::webhook("tenant", &format!("{URL}/{n}"))).collect();
    for new in &mut new {
        new.max_attempts = 9;
    }
    world.enqueue(new);
    world.pass(Duration::from_secs(25));
    let at_rest = (0..1000).any(|_| {
        world.pass(Duration::from_millis(10));
        world.waiting() == 200
    });
    assert!(at_rest, "at some moment none of the 200 is under way");
    world.kill(0);
    let store = Arc::clone(&world.store);
    let before = world.run(async move { delivery::ports::recovery::Recovery::fingerprint(&*store).await }).unwrap();
    world.lose_hot_state();
    assert_eq!(world.rebuild(), before);
    assert_eq!(world.rebuild(), before, "and again, whatever is there already");
}

#[test]
fn p12_a_lost_store_heals_itself_and_nothing_is_lost() {
    let mut world = world(200);
    world.endpoints.behave(|_, _, earlier| Reply::status(if earlier % 3 == 0 { 503 } else { 200 }, 50));
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.extend(enqueue_many(&mut world, 20));
        world.pass(Duration::from_millis(700));
        world.lose_hot_state();
    }
    world.pass(HOUR);
    world.pass(HOUR);
    for id in &ids {
        assert_eq!(phase(&mut world, id), Phase::Delivered);
    }
}

#[test]
fn y3_delivered_webhooks_are_not_revived() {
    let mut world = world(200);
    world.endpoints.behave(|_, _, earlier| Reply::status(if earlier < 10 { 500 } else { 200 }, 5));
    let ids: Vec<_> = (0..10).map(|_| enqueue(&mut world, 9)).collect();
    world.pass(HOUR);
    assert!(ids.iter().all(|id| phase(&mut world, id) == Phase::Delivered));
    let requests = world.endpoints.seen().len();
    world.lose_hot_state();
    world.pass(HOUR);
    assert_eq!(world.endpoints.seen().len(), requests);
    assert!(ids.iter().all(|id| phase(&mut world, id) == Phase::Delivered), "and their statuses are back");
}

#[test]
fn y4_dead_letters_are_listed_again_but_not_the_replayed_ones() {
    let mut world = world(400);
    let ids: Vec<_> = (0..3).map(|_| enqueue(&mut world, 1)).collect();
    world.pass(MINUTE);
    world.endpoints.behave(|_, _, _| Reply::status(200, 5));
    let (service, replayed) = (world.dead_letter_service(), ids[0].clone());
    world.run(async move { service.replay(&replayed).await }).unwrap();
    world.pass(MINUTE);
    world.lose_hot_state();
    world.pass(MINUTE);
    let service = world.dead_letter_service();
    let listed = world.run(async move { service.list(&DeadLetterFilter::default(), None, 10).await }).unwrap();
    let mut listed: Vec<_> = listed.into_iter().map(|listed| listed.entry.id).collect();
    listed.sort();
    let mut expected = ids[1..].to_vec();
    expected.sort();
    assert_eq!(listed, expected);
}

#[test]
fn y4_short_pages_hide_no_dead_letter() {
    let mut world = world(400);
    for _ in 0..30 {
        enqueue(&mut world, 1);
    }
    world.pass(MINUTE);
    world.outage.shorten_pages(3);
    world.lose_hot_state();
    world.pass(MINUTE);
    let service = world.dead_letter_service();
    let listed = world.run(async move { service.list(&DeadLetterFilter::default(), None, 100).await }).unwrap();
    assert_eq!(listed.len(), 30);
}

#[test]
fn a_cooldown_survives_the_loss_of_the_hot_state() {
    let mut world = world(200);
    world.endpoints.behave(
        |_, _, earlier| {
            if earlier == 0 { Reply::retry_after(429, 600) } else { Reply::status(200, 5) }
        },
    );
    enqueue(&mut world, 5);
    world.pass(Duration::from_secs(1));
    world.lose_hot_state();
    world.pass(Duration::from_secs(10));
    enqueue(&mut world, 5);
    world.pass(Duration::from_secs(500));
    assert_eq!(world.endpoints.seen().len(), 1, "RT-1: the cooldown still holds");
}

/// A probe ended the cooldown, and the snapshots of the waiting webhooks carry it: a sweep must not begin it again.
#[test]
fn a_cooldown_that_a_probe_ended_stays_over_through_a_sweep() {
    let mut world = world(200);
    let asked = 6 * 3600;
    world.endpoints.behave(move |_, _, earlier| match earlier {
        0 => Reply::retry_after(429, asked),
        _ => Reply::status(200, 5),
    });
    enqueue(&mut world, 5);
    world.pass(Duration::from_secs(1));
    enqueue_many(&mut world, 30);
    let probed = (0..9 * 60).any(|_| {
        world.pass(MINUTE);
        world.endpoints.seen().len() > 1
    });
    assert!(probed, "a webhook probed");
    world.pass(HOUR);
    assert!(world.waiting() > 0, "the window lasts, and a sweep has found the webhooks that wait in it");
    let ids = enqueue_many(&mut world, 5);
    world.pass(MINUTE);
    assert!(
        ids.iter().all(|id| phase(&mut world, id) == Phase::Delivered),
        "no webhook waits for a cooldown that is over"
    );
}

/// A part of the store is lost with an endpoint's cooldown, long before its end. The snapshots of what waits carry it.
#[test]
fn rt_1_a_holding_cooldown_that_was_lost_alone_is_put_back_by_a_sweep() {
    let mut world = world(200);
    world.endpoints.behave(
        |_, _, earlier| {
            if earlier == 0 { Reply::retry_after(429, 48 * 3600) } else { Reply::status(200, 5) }
        },
    );
    enqueue(&mut world, 5);
    world.pass(MINUTE);
    let (store, endpoint) = (Arc::clone(&world.store), Endpoint::parse(URL).unwrap());
    let lost = world.run(async move {
        let known = store.endpoint(endpoint.hash(), BEGIN).await.unwrap().unwrap().state;
        let transition = Transition { endpoint, version: known.version, circuit: known.circuit, cooldown: None };
        store.change(&transition).await.unwrap()
    });
    assert!(matches!(lost, Change::Made(state) if state.cooldown.is_none()));
    world.pass(HOUR);
    for _ in 0..46 {
        enqueue(&mut world, 5);
        world.pass(HOUR);
    }
    assert_eq!(world.endpoints.seen().len(), 1, "the cooldown still holds");
    world.pass(HOUR * 26);
    assert_eq!((world.endpoints.seen().len(), world.waiting()), (48, 0), "and then everything is sent");
}

/// A caller repeats its key after the store was lost and before it knows again that the webhook was delivered.
#[test]
fn a_key_that_is_repeated_before_the_statuses_are_back_says_why_it_was_sent_twice() {
    let mut world = world(200);
    let mut keyed = howk_tests::world::webhook("tenant", URL);
    keyed.idempotency_key = Some("order 7".to_owned());
    let id = world.enqueue(vec![keyed.clone()]).remove(0);
    world.pass(Duration::from_secs(1));
    world.lose_hot_state();
    world.outage.strike(&[Topic::Results]);
    world.pass(MINUTE);
    assert_eq!(world.enqueue(vec![keyed.clone()]), std::slice::from_ref(&id));
    world.pass(Duration::from_secs(1));
    assert_eq!(world.endpoints.seen().len(), 2, "what waited is back, so work goes on");
    world.outage.strike(&[]);
    world.pass(MINUTE);
    let results = world.witness.published().into_iter().filter_map(|record| match record {
        Record::Result(result) => Some((result.status.id, result.attempt.cause)),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), [(id.clone(), Cause::First), (id, Cause::Unclaimed)]);
    world.enqueue(vec![keyed]);
    world.pass(MINUTE);
    assert_eq!(world.endpoints.seen().len(), 2, "from then on it is known");
}

#[test]
fn two_schedulers_and_two_reconcilers_at_once_are_harmless() {
    let mut world = World::new(1, settings());
    world.endpoints.behave(|_, _, earlier| Reply::status(if earlier < 30 { 500 } else { 200 }, 5));
    for _ in 0..3 {
        world.start();
    }
    let ids = enqueue_many(&mut world, 30);
    world.pass(Duration::from_secs(5));
    world.lose_hot_state();
    world.pass(HOUR);
    assert!(ids.iter().all(|id| phase(&mut world, id) == Phase::Delivered));
    let results = count(&world, |record| matches!(record, Record::Result(_)));
    assert_eq!(results, world.endpoints.seen().len());
}

#[test]
fn what_is_under_way_when_the_store_is_lost_settles_all_the_same() {
    let mut world = world(200);
    world.endpoints.behave(|_, _, _| Reply::status(200, 3000));
    let id = enqueue(&mut world, 1);
    world.pass(Duration::from_secs(1));
    world.lose_hot_state();
    world.pass(MINUTE);
    assert_eq!((phase(&mut world, &id), world.endpoints.seen().len()), (Phase::Delivered, 1));
}

/// A part of the store is lost and the epoch is not, as when a replica that lagged takes over. The next sweep compares the
/// schedule with the log.
#[test]
fn dl_1_what_only_the_log_knows_is_put_back_although_the_epoch_is_there() {
    let mut world = world(200);
    world.endpoints.behave(|_, _, earlier| Reply::status(if earlier < 10 { 500 } else { 200 }, 5));
    let ids: Vec<_> = (0..10).map(|_| enqueue(&mut world, 9)).collect();
    world.pass(Duration::from_secs(1));
    assert_eq!(world.waiting(), 10);
    let (store, lost) = (Arc::clone(&world.store), ids.clone());
    let forget = lost.into_iter().map(|id| Write::Unschedule(id, u64::MAX)).collect();
    world.run(async move { store.apply(forget).await }).unwrap();
    world.pass(MINUTE);
    assert_eq!((world.waiting(), world.endpoints.seen().len()), (0, 10), "nothing comes of them by itself");
    world.pass(HOUR);
    assert!(ids.iter().all(|id| phase(&mut world, id) == Phase::Delivered));
    assert_eq!(world.endpoints.seen().len(), 20);
}

/// A log that counts how many of its pages are read at once.
struct Watched {
    log: Arc<dyn Log>,
    reading: AtomicUsize,
    peak: AtomicUsize,
}

#[async_trait]
impl Log for Watched {
    async fn publish(&self, records: Vec<Record>) -> Result<Vec<Position>, Fault> {
        self.log.publish(records).await
    }

    async fn extents(&self, topic: Topic) -> Result<Vec<Extent>, Fault> {
        self.log.extents(topic).await
    }

    async fn read(&self, topic: Topic, from: Position, limit: usize) -> Result<Page, Fault> {
        let reading = self.reading.fetch_add(1, Ordering::Relaxed) + 1;
        self.peak.fetch_max(reading, Ordering::Relaxed);
        // A read at the same time gets here before this page is read.
        tokio::task::yield_now().await;
        let page = self.log.read(topic, from, limit).await;
        self.reading.fetch_sub(1, Ordering::Relaxed);
        page
    }

    async fn lag(&self, topic: Topic) -> Result<u64, Fault> {
        self.log.lag(topic).await
    }
}

/// Partitions are not replayed one after another.
#[test]
fn y7_partitions_are_replayed_together() {
    let mut world = world(500);
    world.enqueue((0..50).map(|_| howk_tests::world::webhook("tenant", URL)).collect());
    world.pass(Duration::from_secs(1));
    world.kill(0);
    world.lose_hot_state();
    let log = Arc::clone(&world.system.backend.log);
    let watched = Arc::new(Watched { log, reading: AtomicUsize::new(0), peak: AtomicUsize::new(0) });
    let rebuild = Rebuild { log: Arc::<Watched>::clone(&watched), ..(*world.system.rebuild).clone() };
    world.run(async move { rebuild.run(&ClaimHolder("y7".to_owned()), When::IfLost, None).await }).unwrap();
    assert_eq!(world.waiting(), 50);
    let peak = watched.peak.load(Ordering::Relaxed);
    assert!(peak > 1, "one page at a time");
}
