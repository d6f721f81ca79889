//! Lanes, limits, pace and order.

use std::time::Duration;

use domain::{Lane, Phase, Record};
use howk_tests::endpoint::Reply;
use howk_tests::world::{World, settings, webhook};

use crate::{HOUR, MINUTE, URL, count, enqueue, enqueue_many, phase, world};

fn diverted(world: &World) -> usize {
    count(world, |record| matches!(record, Record::Dispatch(Lane::Slow, _)))
}

#[test]
fn a_receiver_slower_than_the_fast_lane_is_served_in_the_slow_one() {
    let mut world = world(200);
    world.endpoints.behave(|_, _, _| Reply::status(200, 8000));
    let id = enqueue(&mut world, 5);
    world.pass(MINUTE);
    assert_eq!(phase(&mut world, &id), Phase::Delivered);
    assert_eq!(world.endpoints.seen().len(), 2, "cut short once, then waited for");
}

#[test]
fn the_last_attempt_is_never_cut_short() {
    let mut world = world(200);
    world.endpoints.behave(|_, _, _| Reply::status(200, 8000));
    let id = enqueue(&mut world, 1);
    world.pass(MINUTE);
    assert_eq!((phase(&mut world, &id), world.endpoints.seen().len()), (Phase::Delivered, 1));
}

#[test]
fn an_endpoint_that_keeps_being_slow_goes_straight_to_the_slow_lane() {
    let mut world = world(200);
    world.endpoints.behave(|_, _, _| Reply::status(200, 8000));
    enqueue_many(&mut world, 4);
    world.pass(Duration::from_secs(20));
    let (before, requests) = (diverted(&world), world.endpoints.seen().len());
    let id = enqueue(&mut world, 5);
    world.pass(Duration::from_secs(20));
    assert_eq!(phase(&mut world, &id), Phase::Delivered);
    assert_eq!(world.endpoints.seen().len(), requests + 1, "no attempt was wasted in the fast lane");
    assert!(diverted(&world) > before);
}

#[test]
fn slow_but_working_is_not_failing() {
    let mut world = world(200);
    world.endpoints.behave(|_, _, _| Reply::status(200, 8000));
    let ids = enqueue_many(&mut world, 30);
    world.pass(HOUR);
    for id in &ids {
        assert_eq!(phase(&mut world, id), Phase::Delivered);
    }
    assert!(world.endpoints.seen().len() <= 60, "the circuit never tripped: {}", world.endpoints.seen().len());
}

#[test]
fn ln_1_never_more_requests_at_once_than_allowed() {
    let mut settings = settings();
    settings.concurrency.max_inflight_per_endpoint = 3;
    let mut world = World::new(1, settings);
    world.endpoints.behave(|_, _, _| Reply::status(200, 1500));
    world.start();
    world.start();
    enqueue_many(&mut world, 30);
    world.pass(HOUR);
    let most = world.endpoints.seen().iter().map(|seen| seen.concurrent).max().unwrap();
    assert_eq!(most, 3);
    assert_eq!(world.endpoints.present(), 0, "LN-1: 0 at rest");
}

#[test]
fn w17_a_domain_limit_holds_over_its_endpoints_even_without_a_default() {
    let mut settings = settings();
    settings.concurrency.domain_overrides.insert("shared.example".to_owned(), 2);
    let mut world = World::new(1, settings);
    world.endpoints.behave(|_, _, _| Reply::status(200, 1500));
    world.start();
    let urls = ["https://shared.example/a", "https://SHARED.example:8443/b", "https://shared.example./c"];
    let ids = world.enqueue((0..18).map(|n| webhook("tenant", urls[n % 3])).collect());
    let mut most = 0;
    for _ in 0..400 {
        world.pass(Duration::from_millis(100));
        most = most.max(world.endpoints.present());
    }
    assert_eq!(most, 2);
    world.pass(HOUR);
    for id in &ids {
        assert_eq!(phase(&mut world, id), Phase::Delivered);
    }
}

#[test]
fn w17_a_domain_limit_of_zero_is_no_limit_and_its_webhooks_are_delivered() {
    let mut settings = settings();
    settings.concurrency.max_inflight_per_domain = 1;
    settings.concurrency.domain_overrides.insert("shared.example".to_owned(), 0);
    let mut world = World::new(1, settings);
    world.endpoints.behave(|_, _, _| Reply::status(200, 1500));
    world.start();
    let ids = world.enqueue((0..6).map(|n| webhook("tenant", &format!("https://shared.example/{n}"))).collect());
    let mut most = 0;
    for _ in 0..100 {
        world.pass(Duration::from_millis(100));
        most = most.max(world.endpoints.present());
    }
    assert!(most > 1, "0 lifts the general limit of 1");
    world.pass(HOUR);
    for id in &ids {
        assert_eq!(phase(&mut world, id), Phase::Delivered);
    }
}

#[test]
fn p8_a_claim_outlives_the_longest_request() {
    for ms in [4_999, 5_000, 5_001, 29_000, 29_999, 30_000, 31_000] {
        let mut world = world(200);
        world.start();
        world.endpoints.behave(move |_, _, _| Reply::status(200, ms));
        enqueue(&mut world, 3);
        world.pass(10 * MINUTE);
        let most = world.endpoints.seen().iter().map(|seen| seen.concurrent).max().unwrap();
        assert_eq!(most, 1, "CL-1: one request at a time for one webhook, whatever its length ({ms} ms)");
    }
}

#[test]
fn p25_the_slow_lane_keeps_its_pace_with_two_processes() {
    let mut settings = settings();
    settings.concurrency.slow_lane_rate = 2;
    settings.concurrency.max_inflight_per_endpoint = 1;
    let mut world = World::new(1, settings);
    world.start();
    world.start();
    enqueue_many(&mut world, 60);
    world.pass(Duration::from_secs(15));
    let requests = world.endpoints.seen().len();
    assert!(requests <= 1 + 2 * 15 + 2, "two a second beside the first: {requests}");
    world.pass(HOUR);
    assert_eq!(world.endpoints.seen().len(), 60, "and everything arrives");
}

#[test]
fn w19_one_tenants_webhooks_keep_their_order_unless_parallelism_is_asked_for() {
    let mut world = World::new(1, settings::Settings::default());
    world.endpoints.behave(|_, _, earlier| Reply::status(200, if earlier % 3 == 0 { 900 } else { 10 }));
    world.start();
    let ids = enqueue_many(&mut world, 20);
    world.pass(MINUTE);
    let seen: Vec<String> = world.endpoints.seen().into_iter().map(|seen| seen.id).collect();
    assert_eq!(seen, ids.iter().map(ToString::to_string).collect::<Vec<_>>());
}

#[test]
fn tn_1_a_hanging_tenant_does_not_hold_up_another() {
    let mut world = World::new(1, settings::Settings::default());
    world.endpoints.behave(|url, _, _| if url == URL { Reply::status(200, 5) } else { Reply::hang() });
    world.start();
    world.enqueue((0..20).map(|_| webhook("hanging", "https://hanging.example/")).collect());
    world.pass(Duration::from_secs(1));
    let id = enqueue(&mut world, 5);
    world.pass(Duration::from_secs(1));
    assert_eq!(phase(&mut world, &id), Phase::Delivered);
}
