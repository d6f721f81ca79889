//! The circuit: what opens it, and how it recovers.

use std::time::Duration;

use delivery::ports::endpoints::Endpoints as _;
use domain::{Circuit, EndpointHash, Phase};
use futures::FutureExt;
use howk_tests::endpoint::Reply;
use howk_tests::world::World;

use crate::{HOUR, MINUTE, URL, enqueue_many, phase, world};

fn circuit(world: &World) -> Circuit {
    let view = world.store.endpoint(&EndpointHash::of(URL), world.now()).now_or_never().unwrap().unwrap();
    view.map(|view| view.state.circuit).unwrap_or_default()
}

#[test]
fn w4_a_callers_bad_payload_says_nothing_against_the_endpoint() {
    let mut world = world(422);
    enqueue_many(&mut world, 50);
    world.pass(MINUTE);
    assert_eq!(world.endpoints.seen().len(), 50);
    assert!(matches!(circuit(&world), Circuit::Closed { .. }));
}

#[test]
fn w5_at_the_moment_of_recovery_one_caller_probes() {
    let mut world = world(500);
    enqueue_many(&mut world, 6);
    world.pass(Duration::from_secs(1));
    assert!(matches!(circuit(&world), Circuit::Open { .. }));
    world.pass(Duration::from_secs(302));
    let before = world.endpoints.seen().len();
    world.endpoints.behave(|_, _, _| Reply::status(200, 900));
    enqueue_many(&mut world, 32);
    world.pass(Duration::from_millis(800));
    let probes = world.endpoints.seen().len() - before;
    assert!(probes <= 1, "CB-1: {probes} requests to a circuit that is not closed");
    world.pass(HOUR);
    assert!(matches!(circuit(&world), Circuit::Closed { .. }));
}

#[test]
fn w6_no_answer_goes_uncounted_however_many_come_at_once() {
    let mut world = world(500);
    world.endpoints.behave(|_, _, _| Reply::status(500, 100));
    enqueue_many(&mut world, 50);
    world.pass(Duration::from_secs(1));
    let view = world.store.endpoint(&EndpointHash::of(URL), world.now()).now_or_never().unwrap().unwrap().unwrap();
    let counted: u32 = view.state.buckets.iter().map(|bucket| bucket.tally.failures).sum();
    assert_eq!(usize::try_from(counted).unwrap(), world.endpoints.seen().len());
}

#[test]
fn w7_an_open_circuit_sends_nothing_for_its_recovery_time() {
    let mut world = world(500);
    let ids = enqueue_many(&mut world, 6);
    world.pass(Duration::from_secs(1));
    let (opened, requests) = (world.now(), world.endpoints.seen().len());
    world.endpoints.behave(|_, _, _| Reply::status(200, 5));
    world.pass(Duration::from_secs(298));
    assert_eq!(world.endpoints.seen().len(), requests, "CB-1: an open circuit sends nothing");
    world.pass(HOUR);
    let first = world.endpoints.seen()[requests].at;
    assert!(
        first.since(opened) < Duration::from_secs(300 + 62),
        "it recovers at its time: {:?}",
        first.since(opened)
    );
    for id in &ids {
        assert_eq!(phase(&mut world, id), Phase::Delivered);
    }
}

#[test]
fn a_busy_endpoint_with_a_few_errors_stays_closed() {
    let mut world = world(200);
    world.endpoints.behave(|_, _, earlier| Reply::status(if earlier % 5 == 0 { 500 } else { 200 }, 5));
    enqueue_many(&mut world, 200);
    world.pass(MINUTE);
    assert!(matches!(circuit(&world), Circuit::Closed { .. }));
}

#[test]
fn an_endpoint_that_sent_retry_after_has_a_cooldown_and_a_closed_circuit() {
    let mut world = world(200);
    world.endpoints.behave(
        |_, _, earlier| {
            if earlier < 20 { Reply::retry_after(429, 30) } else { Reply::status(200, 5) }
        },
    );
    enqueue_many(&mut world, 20);
    world.pass(Duration::from_secs(1));
    assert!(matches!(circuit(&world), Circuit::Closed { .. }));
}
