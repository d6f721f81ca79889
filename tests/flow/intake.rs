//! Acceptance: keys, errors, and nothing dropped.

use std::sync::Arc;

use domain::{Phase, WebhookId};
use howk_tests::world::{World, settings, webhook};

use crate::{MINUTE, URL, enqueue, enqueue_many, phase, world};
use std::time::Duration;

#[test]
fn w1_one_key_one_webhook_within_a_tenant() {
    let mut world = world(200);
    let keyed = |tenant: &str| {
        let mut new = webhook(tenant, URL);
        new.idempotency_key = Some("order-7".to_owned());
        new
    };
    let first = world.enqueue(vec![keyed("a")]).remove(0);
    let at_once = world.enqueue(vec![keyed("a"), keyed("a")]);
    world.pass(MINUTE);
    let later = world.enqueue(vec![keyed("a")]).remove(0);
    let other = world.enqueue(vec![keyed("b")]).remove(0);
    for _ in 0..10 {
        world.pass(MINUTE);
    }
    assert!(at_once.iter().chain([&later]).all(|id| *id == first));
    assert_ne!(other, first, "TN-1: another tenant's key is another key");
    assert_eq!(world.endpoints.seen().len(), 2, "one delivery for each tenant");
    assert_eq!((phase(&mut world, &first), phase(&mut world, &other)), (Phase::Delivered, Phase::Delivered));
}

#[test]
fn p11_a_webhook_to_an_endpoint_never_seen_before_is_delivered() {
    let mut world = world(200);
    let id = enqueue(&mut world, 5);
    world.pass(Duration::from_millis(10));
    assert_eq!(phase(&mut world, &id), Phase::Delivered);
}

#[test]
fn w18_three_thousand_at_once_and_none_dropped() {
    let mut world = world(200);
    let ids: Vec<WebhookId> = (0..30)
        .flat_map(|batch| world.enqueue((0..100).map(|n| webhook("tenant", &format!("{URL}/{batch}-{n}"))).collect()))
        .collect();
    world.pass(MINUTE);
    assert_eq!(world.endpoints.seen().len(), 3000);
    assert!(ids.iter().all(|id| phase(&mut world, id) == Phase::Delivered));
}

#[test]
fn a_full_log_refuses_new_webhooks_and_keeps_what_it_has() {
    let mut world = World::new(1, settings());
    let large = |n: usize| {
        let mut new = webhook("tenant", &format!("{URL}/{n}"));
        new.payload.bytes = Arc::from(vec![b'1'; 1 << 20]);
        new
    };
    let mut accepted = Vec::new();
    let refused = loop {
        let (enqueue, new) = (world.system.enqueue.clone(), large(accepted.len()));
        match world.run(async move { enqueue.enqueue(vec![new]).await }) {
            Ok(ids) => accepted.extend(ids),
            Err(fault) => break fault,
        }
        assert!(accepted.len() < 1000, "memory is bounded");
    };
    assert_eq!(refused.kind, delivery::FaultKind::OverLimit);
    world.start();
    world.pass(MINUTE);
    assert!(accepted.iter().all(|id| phase(&mut world, id) == Phase::Delivered), "what was accepted is delivered");
    enqueue_many(&mut world, 1);
}

#[test]
fn w20_statistics_count_every_endpoint_by_utc_hours() {
    let mut world = world(200);
    world.enqueue((0..40).map(|n| webhook("tenant", &format!("{URL}/{}", n % 10))).collect());
    world.pass(MINUTE);
    let (store, hour) = (Arc::clone(&world.store), delivery::stats_buffer::hour_of(world.now()));
    let (counts, endpoints) =
        world.run(async move { delivery::ports::stats::Stats::sum(&*store, &[hour]).await }).unwrap();
    assert_eq!((counts.enqueued, counts.delivered, endpoints), (40, 40, 10));
}
