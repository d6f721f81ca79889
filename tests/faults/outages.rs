//! The log is out of reach for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use delivery::dead_letters::Replayed;
use delivery::deliver::{Deliver, Handled, Invocation};
use delivery::ports::dead_letters::DeadLetterFilter;
use delivery::ports::endpoints::Endpoints;
use delivery::ports::hot_state::{AcquireRequest, Change, HotState};
use delivery::ports::time::Clock;
use delivery::{Fault, FaultKind};
use domain::{Cause, EndpointState, Facts, Lane, Phase, Record, Topic, Transition, WaitReason, Write};
use howk_tests::endpoint::Reply;
use howk_tests::fuse::Blow;
use howk_tests::world::{World, settings, webhook};

use crate::acts::{self, invocation};
use crate::scenes::{self, Scene, TENANT, URL, hash};

fn world(status: u16) -> World {
    let mut world = World::new(11, settings());
    world.endpoints.behave(move |_, _, _| Reply::status(status, 5));
    world.start();
    world
}

#[test]
fn p19_an_outage_of_the_results_sends_nothing_twice() {
    // Whether it is short or long, and whether or not the fault says that it passes.
    for kind in [FaultKind::Transient, FaultKind::Permanent] {
        for lasts in [Duration::from_secs(3), Duration::from_mins(10)] {
            an_outage_of_the_results(kind, lasts);
        }
    }
}

fn an_outage_of_the_results(kind: FaultKind, lasts: Duration) {
    let mut world = world(200);
    world.outage.fail_with(kind);
    world.outage.strike(&[Topic::Results]);
    let ids = world.enqueue((0..10).map(|_| webhook(TENANT, URL)).collect());
    world.pass(lasts);
    assert_eq!(world.endpoints.seen().len(), 10, "each was sent");
    assert!(ids.iter().all(|id| world.status(id).is_none_or(|status| !status.phase.is_terminal())), "none settled");
    world.outage.strike(&[]);
    world.pass(Duration::from_mins(1));
    assert!(ids.iter().all(|id| world.status(id).is_some_and(|status| status.phase == Phase::Delivered)));
    assert_eq!(world.endpoints.seen().len(), 10, "and none was sent again");
}

#[test]
fn x9_a_dead_letter_that_could_not_be_published_is_published_later() {
    let mut world = world(400);
    world.outage.strike(&[Topic::DeadLetter]);
    let id = world.enqueue(vec![webhook(TENANT, URL)]).remove(0);
    world.pass(Duration::from_secs(3));
    assert!(
        !world.status(&id).unwrap().phase.is_terminal(),
        "no status says that it ended before the dead letter is durable"
    );
    world.outage.strike(&[]);
    world.pass(Duration::from_mins(5));
    assert_eq!(world.status(&id).unwrap().phase, Phase::Dead);
    let service = world.dead_letter_service();
    let listed = world.run(async move { service.list(&DeadLetterFilter::default(), None, 10).await }).unwrap();
    assert!(listed.iter().any(|listed| listed.entry.id == id && listed.dead_letter.is_some()));
}

/// Whichever step between the dead letter and its index entry stalls, the owner cannot replay the dead letter before: a
/// snapshot of the next life would come before the tombstone of this one.
#[test]
fn dl_1_a_dead_letter_is_listed_once_its_webhook_waits_no_more() {
    for topic in [Topic::Results, Topic::State] {
        let mut world = world(500);
        let mut new = webhook(TENANT, URL);
        new.max_attempts = 2;
        let id = world.enqueue(vec![new]).remove(0);
        world.pass(Duration::from_secs(1));
        world.outage.strike(&[topic]);
        world.pass(Duration::from_secs(30));
        let count =
            |world: &World, of: Topic| world.witness.published().iter().filter(|record| record.topic() == of).count();
        let expected = (1, if topic == Topic::Results { 1 } else { 2 }, 1);
        let found = (count(&world, Topic::DeadLetter), count(&world, Topic::Results), count(&world, Topic::State));
        assert_eq!(found, expected, "each step is durable before the next: {topic:?}");
        assert!(!world.status(&id).unwrap().phase.is_terminal());
        let replay = |world: &mut World| {
            let (service, id) = (world.dead_letter_service(), id.clone());
            world.run(async move { service.replay(&id).await }).unwrap()
        };
        assert_eq!(replay(&mut world), Replayed::NotFound, "{topic:?}");
        world.outage.strike(&[]);
        world.pass(Duration::from_mins(1));
        assert_eq!(world.status(&id).unwrap().phase, Phase::Dead);
        assert_eq!(count(&world, Topic::State), 2, "a snapshot and its tombstone");
        assert!(matches!(replay(&mut world), Replayed::Yes(_)));
    }
}

/// A holder that the log keeps waiting beyond its claim does not dead-letter what another holder has delivered meanwhile.
#[test]
fn cl_1_what_another_holder_delivered_is_not_dead_lettered() {
    let mut world = world(500);
    let mut new = webhook(TENANT, URL);
    new.max_attempts = 1;
    world.outage.strike(&[Topic::DeadLetter]);
    let id = world.enqueue(vec![new]).remove(0);
    world.pass(Duration::from_mins(1));
    world.endpoints.behave(|_, _, _| Reply::status(200, 5));
    let dispatch = world.witness.published().into_iter().find_map(|record| match record {
        Record::Dispatch(_, dispatch) => Some(dispatch),
        _ => None,
    });
    let (deliver, second) = (world.deliver(), invocation("second", Lane::Fast, world.now()));
    world.run(async move { deliver.deliver(&dispatch.unwrap(), &second).await }).unwrap();
    assert_eq!(world.status(&id).unwrap().phase, Phase::Delivered);
    world.outage.strike(&[]);
    world.pass(Duration::from_mins(1));
    let published = world.witness.published();
    assert!(!published.iter().any(|record| matches!(record, Record::DeadLetter(_))), "it was delivered");
    let results = published.iter().filter(|record| matches!(record, Record::Result(_))).count();
    assert_eq!((results, world.endpoints.seen().len()), (2, 2), "each request has its result all the same");
    world.lose_hot_state();
    world.pass(Duration::from_mins(1));
    assert_eq!(world.status(&id).unwrap().phase, Phase::Delivered);
}

/// A store of which the endpoints' part may be down.
struct Part {
    store: Arc<dyn HotState>,
    is_down: AtomicBool,
}

#[async_trait]
impl HotState for Part {
    async fn acquire(&self, request: AcquireRequest<'_>) -> Facts {
        self.store.acquire(request).await
    }

    async fn apply(&self, writes: Vec<Write>) -> Result<Option<EndpointState>, Fault> {
        let is_down = self.is_down.load(Ordering::SeqCst);
        if is_down && writes.iter().any(|write| matches!(write, Write::Report(_))) {
            return Err(Fault::new(FaultKind::Transient, "the endpoint's part is down"));
        }
        self.store.apply(writes).await
    }

    async fn change(&self, transition: &Transition) -> Result<Change, Fault> {
        self.store.change(transition).await
    }
}

/// P19: however long the endpoint's report cannot be stored, a request whose dispatch another holder settled has one result.
#[test]
fn p19_a_request_whose_dispatch_another_holder_settled_has_one_result() {
    let mut world = World::new(11, settings());
    world.endpoints.behave(|_, _, earlier| Reply::status(if earlier == 0 { 500 } else { 200 }, 5));
    let mut new = webhook(TENANT, URL);
    new.max_attempts = 1;
    world.enqueue(vec![new]);
    let dispatch = match world.witness.published().pop() {
        Some(Record::Dispatch(_, dispatch)) => dispatch,
        other => panic!("{other:?}"),
    };
    let store = Arc::<in_memory::MemoryStore>::clone(&world.store);
    let part = Arc::new(Part { store, is_down: AtomicBool::new(false) });
    let first = Deliver { hot: Arc::<Part>::clone(&part), ..(*world.deliver()).clone() };
    let (second, soon) = (world.deliver(), world.now().plus(Duration::from_mins(1)));
    let server = Invocation { deadline: None, ..invocation("first", Lane::Fast, world.now()) };
    let (clock, outage, witness) = (Arc::clone(&world.clock), Arc::clone(&world.outage), Arc::clone(&world.witness));
    outage.strike(&[Topic::DeadLetter]);
    let results = world.run(async move {
        let beside = async {
            clock.sleep(Duration::from_mins(1)).await;
            second.deliver(&dispatch, &invocation("second", Lane::Fast, soon)).await.unwrap();
            part.is_down.store(true, Ordering::SeqCst);
            outage.strike(&[]);
            clock.sleep(Duration::from_mins(1)).await;
            part.is_down.store(false, Ordering::SeqCst);
        };
        let (settled, ()) = futures::join!(first.deliver(&dispatch, &server), beside);
        assert_eq!(settled.unwrap(), Handled::Done);
        witness.published().into_iter().filter(|record| matches!(record, Record::Result(_))).count()
    });
    assert_eq!((results, world.endpoints.seen().len()), (2, 2), "one for each request");
}

#[test]
fn p13_a_long_outage_ends_without_a_restart_and_without_a_loss() {
    let mut world = world(503);
    let ids = world.enqueue((0..20).map(|_| webhook(TENANT, URL)).collect());
    world.pass(Duration::from_secs(4));
    world.outage.strike(&Topic::ALL);
    world.pass(Duration::from_mins(5));
    world.outage.strike(&[]);
    world.endpoints.behave(|_, _, _| Reply::status(200, 5));
    world.pass(Duration::from_hours(2));
    assert!(ids.iter().all(|id| world.status(id).is_some_and(|status| status.phase == Phase::Delivered)));
}

#[test]
fn p10_accepted_means_published() {
    let mut world = world(200);
    world.outage.strike(&[Topic::Pending]);
    let (enqueue, new) = (world.system.enqueue.clone(), webhook(TENANT, URL));
    let answer = world.run(async move { enqueue.enqueue(vec![new]).await });
    assert!(answer.is_err(), "the caller gets an error");
    world.outage.strike(&[]);
    world.pass(Duration::from_mins(1));
    assert_eq!(world.endpoints.seen().len(), 0, "and the refused webhook is not sent");
}

/// Has `holder` work on the dispatch of a scene; returns also the reasons for which something waits since.
fn work(scene: &mut Scene, holder: &str) -> (Result<Handled, Fault>, Vec<WaitReason>) {
    let (deliver, dispatch) = (scene.world.deliver(), scene.dispatch());
    let (invocation, before) = (invocation(holder, scene.lane, scene.now()), scene.world.witness.published().len());
    let handled = scene.world.run(async move { deliver.deliver(&dispatch, &invocation).await });
    let since = scene.world.witness.published().into_iter().skip(before);
    let reasons =
        since.filter_map(|record| if let Record::Waiting(waiting) = record { Some(waiting.reason) } else { None });
    (handled, reasons.collect())
}

fn inflight(scene: &mut Scene) -> u64 {
    let (store, now) = (Arc::clone(&scene.world.store), scene.now());
    scene.world.run(async move { store.endpoint(&hash(), now).await }).unwrap().map_or(0, |view| view.inflight)
}

/// The log fails before a decision is stored: the next holder finds neither a claim nor a lease.
#[test]
fn cl_1_ln_1_a_fault_of_the_log_gives_back_what_was_taken() {
    for (scene, reason) in [
        (scenes::cooldown_holding(), WaitReason::Cooldown),
        (scenes::circuit_open(), WaitReason::Circuit),
        (scenes::paused(), WaitReason::Paused),
    ] {
        let mut scene = scene;
        scene.world.outage.strike(&[Topic::State]);
        assert!(work(&mut scene, "first").0.is_err());
        assert_eq!(inflight(&mut scene), 0, "{reason:?}");
        scene.world.outage.strike(&[]);
        assert_eq!(work(&mut scene, "second").1, [reason], "not held");
        assert_eq!(inflight(&mut scene), 0, "{reason:?}");
    }
}

/// The log may have stored the dispatch for the slow lane all the same, so the record waits behind its own claim.
#[test]
fn cl_1_a_fault_while_diverting_gives_back_the_leases_and_keeps_the_claim() {
    let mut scene = scenes::known_slow();
    scene.world.outage.strike(&[Topic::Slow]);
    assert!(work(&mut scene, "first").0.is_err());
    assert_eq!(inflight(&mut scene), 0);
    scene.world.outage.strike(&[]);
    assert_eq!(work(&mut scene, "second").1, [WaitReason::Claimed]);
}

/// A probe cannot be stored: no request was made, so the next holder's attempt is no takeover.
#[test]
fn cl_1_a_fault_of_a_probe_gives_back_what_was_taken() {
    let mut scene = scenes::circuit_to_probe(Reply::status(200, 5));
    let fuse = acts::fuse(&scene, 1, Blow::FailsOnce);
    acts::deliver(&mut scene, &fuse);
    assert!(fuse.has_blown() && scene.world.endpoints.seen().is_empty());
    assert_eq!(inflight(&mut scene), 0);
    assert_eq!(work(&mut scene, "second").0.unwrap(), Handled::Done);
    let causes: Vec<_> = scene
        .world
        .witness
        .published()
        .into_iter()
        .filter_map(|record| match record {
            Record::Result(result) => Some(result.attempt.cause),
            _ => None,
        })
        .collect();
    assert_eq!(causes, [Cause::First]);
}
