//! X1 to X13: the ways in which the original loses webhooks.

use delivery::ports::log::Log;
use domain::{Payload, PayloadKind, Phase, Position, Record, Topic, Undecodable};
use howk_tests::endpoint::Reply;
use howk_tests::world::{World, settings, webhook};

use crate::{DAY, HOUR, MINUTE, URL, enqueue, enqueue_many, phase, world};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn x1_an_open_circuit_loses_nothing() {
    let mut world = world(500);
    for _ in 0..8 {
        enqueue(&mut world, 20);
        world.pass(Duration::from_secs(1));
    }
    let late: Vec<_> = (0..3).map(|_| enqueue(&mut world, 20)).collect();
    world.pass(Duration::from_secs(1));
    let before = world.endpoints.seen().len();
    assert!(
        late.iter().all(|id| !world.endpoints.seen().iter().any(|seen| seen.id == id.as_str())),
        "the circuit is open"
    );
    world.endpoints.behave(|_, _, _| Reply::status(200, 5));
    world.pass(HOUR);
    assert!(world.endpoints.seen().len() > before);
    for id in &late {
        assert_eq!(phase(&mut world, id), Phase::Delivered);
    }
}

#[test]
fn x2_the_slow_lane_delivers_everything_it_is_given() {
    let mut settings = settings();
    settings.concurrency.max_inflight_per_endpoint = 2;
    let mut world = World::new(1, settings);
    world.endpoints.behave(|_, _, _| Reply::status(200, 900));
    world.start();
    let ids = enqueue_many(&mut world, 40);
    world.pass(HOUR);
    let diverted = crate::count(&world, |record| matches!(record, Record::Dispatch(domain::Lane::Slow, _)));
    assert!(diverted >= 30, "most were diverted: {diverted}");
    for id in &ids {
        assert_eq!(phase(&mut world, id), Phase::Delivered);
    }
    assert_eq!(world.endpoints.seen().len(), 40, "each was sent once");
}

#[test]
fn x3_every_failure_up_to_the_last_attempt_is_retried() {
    for failures in 0..6 {
        let mut world = world(200);
        world.endpoints.behave(move |_, _, earlier| Reply::status(if earlier < failures { 500 } else { 200 }, 5));
        let id = enqueue(&mut world, 6);
        world.pass(DAY);
        assert_eq!(phase(&mut world, &id), Phase::Delivered, "after {failures} failures");
        assert_eq!(world.endpoints.seen().len(), failures + 1);
    }
}

#[test]
fn x4_what_is_accepted_while_no_process_runs_is_delivered_later() {
    let mut world = World::new(1, settings());
    let ids = enqueue_many(&mut world, 5);
    world.pass(HOUR);
    world.start();
    world.pass(MINUTE);
    for id in &ids {
        assert_eq!(phase(&mut world, id), Phase::Delivered);
    }
}

#[test]
fn x5_a_process_killed_between_claim_and_answer_loses_nothing() {
    let mut world = world(200);
    world.endpoints.behave(|_, _, _| Reply::status(200, 2000));
    let ids = enqueue_many(&mut world, 3);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.endpoints.present(), 3);
    world.kill(0);
    assert_eq!(world.endpoints.present(), 0);
    world.start();
    world.pass(MINUTE);
    for id in &ids {
        assert_eq!(phase(&mut world, id), Phase::Delivered);
    }
}

#[test]
fn x6_a_record_that_could_not_be_settled_is_tried_again_in_the_same_session() {
    let mut world = world(200);
    world.lose_hot_state();
    let ids = enqueue_many(&mut world, 5);
    world.pass(MINUTE);
    for id in &ids {
        assert_eq!(phase(&mut world, id), Phase::Delivered, "redelivered until the rebuild was done, then worked on");
    }
    let lag = Arc::clone(&world.log);
    assert_eq!(world.run(async move { lag.lag(Topic::Pending).await }).unwrap(), 0, "and committed");
}

#[test]
fn x8_a_store_that_fails_at_release_drops_nothing() {
    let mut world = world(500);
    let id = enqueue(&mut world, 20);
    world.pass(Duration::from_secs(2));
    world.lose_hot_state();
    world.endpoints.behave(|_, _, _| Reply::status(200, 5));
    world.pass(HOUR);
    assert_eq!(phase(&mut world, &id), Phase::Delivered);
}

#[test]
fn x10_a_binary_body_is_retried_and_dead_lettered_like_any_other() {
    let mut world = world(500);
    let mut new = webhook("tenant", URL);
    new.payload = Payload { bytes: Arc::from(&[0_u8, 159, 146, 150, 255][..]), kind: PayloadKind::Binary };
    new.max_attempts = 2;
    let id = world.enqueue(vec![new]).remove(0);
    world.pass(HOUR);
    assert_eq!(phase(&mut world, &id), Phase::Dead);
    assert_eq!(world.endpoints.seen().len(), 2);
}

#[test]
fn x11_members_that_come_and_go_under_load_lose_nothing() {
    let mut world = world(200);
    world.endpoints.behave(|_, _, _| Reply::status(200, 700));
    let mut ids = Vec::new();
    for round in 0..6 {
        ids.extend(enqueue_many(&mut world, 10));
        world.pass(Duration::from_millis(300));
        let process = world.start();
        world.pass(Duration::from_millis(300));
        if round % 2 == 0 {
            world.kill(process);
        }
    }
    world.pass(HOUR);
    for id in &ids {
        assert_eq!(phase(&mut world, id), Phase::Delivered);
    }
}

#[test]
fn x12_whatever_waits_has_a_snapshot_before_it_counts_as_waiting() {
    let mut world = world(500);
    let id = enqueue(&mut world, 3);
    world.pass(DAY);
    assert_eq!(phase(&mut world, &id), Phase::Dead);
    let state: Vec<bool> = world
        .witness
        .published()
        .iter()
        .filter_map(|record| match record {
            Record::Waiting(_) => Some(true),
            Record::Tombstone(..) => Some(false),
            _ => None,
        })
        .collect();
    assert_eq!(state.iter().filter(|waits| **waits).count(), 2, "one snapshot for each of the two waits");
    assert_eq!(state.last(), Some(&false), "and the tombstone last");
}

#[test]
fn p15_a_record_that_cannot_be_read_ends_as_a_dead_letter_and_blocks_no_other() {
    let mut world = world(200);
    let (deliver, clock) = (world.deliver(), Arc::clone(&world.clock));
    let handled = world.run(async move {
        let undecodable = Undecodable {
            topic: "howk.pending".to_owned(),
            position: Position { partition: 0, offset: 7 },
            key: None,
            value: Some(vec![0xff, 0x00]),
            error: "not JSON at byte 0".to_owned(),
            at: delivery::ports::time::Clock::now(&*clock),
        };
        let record = delivery::ports::log::LogRecord { position: undecodable.position, value: Err(undecodable) };
        let invocation = delivery::deliver::Invocation {
            holder: domain::ClaimHolder("test".to_owned()),
            lane: domain::Lane::Fast,
            deadline: None,
        };
        deliver.handle(record, &invocation).await
    });
    assert_eq!(handled.unwrap(), delivery::deliver::Handled::Done, "it may be acknowledged");
    let dead_letters = crate::count(
        &world,
        |record| matches!(record, Record::Undecodable(found) if found.value == Some(vec![0xff, 0x00])),
    );
    assert_eq!(dead_letters, 1, "with its raw bytes");
}
