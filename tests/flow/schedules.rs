//! The scheduler and the reconciler as functions.

use std::sync::Arc;
use std::time::Duration;

use domain::Topic;
use howk_tests::endpoint::Reply;
use howk_tests::events::{found, json};
use howk_tests::world::{World, settings, webhook};
use lambda_kit::{Handler, Invoked};
use reconciler::RebuildHandler;
use scheduler::ScheduleHandler;
use serde_json::{Value, json as value};

use crate::{MINUTE, URL};

const MARGIN: Duration = Duration::from_secs(1);
/// The default of `reconciler.sweep_interval`.
const SWEEP: Duration = Duration::from_hours(1);
const PAYLOAD: &str = "{\"source\":\"aws.scheduler\",\"detail\":\"{}\"}";

fn invoke<H: Handler>(world: &mut World, handler: &H, payload: &'static str) -> Value {
    let invoked = Invoked::lasting_until(world.now().plus(MINUTE), MARGIN);
    let handler = handler.clone();
    json(&world.run(async move { handler.handle(payload, invoked).await }).unwrap())
}

fn schedule(world: &World) -> ScheduleHandler {
    ScheduleHandler { scheduler: world.system.scheduler.clone() }
}

fn rebuild(world: &World) -> RebuildHandler {
    let (rebuild, schedule) = ((*world.system.rebuild).clone(), Arc::clone(&world.system.backend.stores.schedule));
    RebuildHandler { rebuild, schedule, random: Arc::clone(&world.system.enqueue.random) }
}

/// Webhooks that wait for their second attempt.
fn waiting(world: &mut World, count: usize) {
    world.endpoints.behave(|_, _, _| Reply::status(500, 5));
    let process = world.start();
    world.enqueue(vec![webhook("tenant", URL); count]);
    world.pass(Duration::from_secs(1));
    world.kill(process);
    assert_eq!(world.waiting(), u64::try_from(count).unwrap());
}

/// What was published since the last consumer settled everything.
fn pending(world: &mut World) -> usize {
    found(world, Topic::Pending).len()
}

#[test]
fn the_scheduler_releases_what_is_due_until_shortly_before_its_end() {
    let mut world = World::new(1, settings());
    waiting(&mut world, 4);
    let (handler, began) = (schedule(&world), world.now());
    assert_eq!(invoke(&mut world, &handler, PAYLOAD), value!({ "released": 4, "faults": 0 }));
    assert_eq!((pending(&mut world), world.waiting()), (4, 0));
    let lasted = world.now().since(began);
    assert!(lasted + MARGIN <= MINUTE && lasted > Duration::from_secs(57), "{lasted:?}");
}

#[test]
fn two_schedulers_at_once_release_each_webhook_once() {
    let mut world = World::new(1, settings());
    waiting(&mut world, 40);
    let (one, other) = (schedule(&world), schedule(&world));
    let invoked = Invoked::lasting_until(world.now().plus(MINUTE), MARGIN);
    let (one, other) = world
        .run(async move { futures::join!(one.handle(PAYLOAD, invoked), other.handle("{\"force\":true}", invoked)) });
    assert_eq!(one.unwrap().released + other.unwrap().released, 40);
    assert_eq!(pending(&mut world), 40);
}

#[test]
fn nothing_is_released_while_the_hot_state_is_not_whole() {
    let mut world = World::new(1, settings());
    waiting(&mut world, 3);
    let handler = schedule(&world);
    world.lose_hot_state();
    assert_eq!(invoke(&mut world, &handler, PAYLOAD)["released"], value!(0));
    let reconciler = rebuild(&world);
    let answer = invoke(&mut world, &reconciler, PAYLOAD);
    assert_eq!(
        (&answer["outcome"], &answer["phases"], &answer["waiting"]),
        (&value!("done"), &value!(3), &value!(3))
    );
    assert!(answer["replayed"].as_u64().unwrap() >= 6, "snapshots and results: {answer}");
    assert_eq!(answer["fingerprint"].as_str().map(str::len), Some(16));
    assert_eq!(invoke(&mut world, &handler, PAYLOAD)["released"], value!(3));
}

#[test]
fn the_reconciler_rests_while_all_is_whole_and_rebuilds_when_it_is_forced_to() {
    let mut world = World::new(1, settings());
    waiting(&mut world, 2);
    let handler = rebuild(&world);
    world.pass(MINUTE);
    assert_eq!(invoke(&mut world, &handler, PAYLOAD), value!({ "outcome": "up_to_date" }));
    // Right after a tick that found nothing to do.
    let forced = invoke(&mut world, &handler, "{\"force\":true}");
    assert_eq!((&forced["outcome"], &forced["waiting"]), (&value!("done"), &value!(2)));
    let (one, other) = (handler.clone(), handler.clone());
    world.pass(MINUTE);
    let invoked = Invoked::lasting_until(world.now().plus(MINUTE), MARGIN);
    let (one, other) = world
        .run(async move { futures::join!(one.handle("{\"force\":true}", invoked), other.handle(PAYLOAD, invoked)) });
    let outcomes = [json(&one.unwrap())["outcome"].clone(), json(&other.unwrap())["outcome"].clone()];
    assert!(outcomes.contains(&value!("done")), "{outcomes:?}");
}

#[test]
fn the_reconciler_sweeps_when_it_is_time_although_all_is_whole() {
    let mut world = World::new(1, settings());
    waiting(&mut world, 2);
    let handler = rebuild(&world);
    world.pass(SWEEP);
    let swept = invoke(&mut world, &handler, PAYLOAD);
    assert_eq!((&swept["outcome"], &swept["waiting"]), (&value!("swept"), &value!(2)));
    assert_eq!(invoke(&mut world, &handler, PAYLOAD), value!({ "outcome": "up_to_date" }));
}

#[test]
fn a_sweep_goes_on_where_the_deadline_stopped_it() {
    let mut world = World::new(1, settings());
    waiting(&mut world, 2);
    let handler = rebuild(&world);
    world.pass(SWEEP);
    let over = Invoked::lasting_until(world.now(), Duration::ZERO);
    let first = handler.clone();
    let stopped = json(&world.run(async move { first.handle(PAYLOAD, over).await }).unwrap());
    assert_eq!(stopped["outcome"], value!("unfinished"));
    assert_eq!(invoke(&mut world, &handler, PAYLOAD)["outcome"], value!("swept"));
}

#[test]
fn a_rebuild_goes_on_where_the_deadline_stopped_it() {
    let mut world = World::new(1, settings());
    waiting(&mut world, 5);
    world.lose_hot_state();
    let handler = rebuild(&world);
    let over = Invoked::lasting_until(world.now(), Duration::ZERO);
    let first = handler.clone();
    let stopped = json(&world.run(async move { first.handle(PAYLOAD, over).await }).unwrap());
    assert_eq!(stopped, value!({ "outcome": "unfinished", "phases": 0, "replayed": 0, "waiting": 0 }));
    world.pass(MINUTE);
    assert_eq!(invoke(&mut world, &handler, "")["waiting"], value!(5));
}
