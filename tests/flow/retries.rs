//! Attempts and their times.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::{Answer, Cause, Phase, Record};
use howk_tests::endpoint::Reply;
use howk_tests::world::{World, settings, webhook};

use crate::{DAY, HOUR, MINUTE, URL, enqueue, phase, status, world};

#[test]
fn w2_p14_as_many_requests_as_attempts_are_allowed() {
    for allowed in [1, 2, 3, 26, 100] {
        let mut settings = settings();
        settings.circuit_breaker.failure_threshold = 1000;
        settings.retry.max_delay = MINUTE;
        let mut world = World::new(1, settings);
        world.endpoints.behave(|_, _, _| Reply::status(500, 5));
        world.start();
        let id = enqueue(&mut world, allowed);
        world.pass(2 * HOUR);
        assert_eq!(world.endpoints.seen().len(), usize::try_from(allowed).unwrap());
        let status = status(&mut world, &id);
        assert_eq!((status.phase, status.attempts), (Phase::Dead, allowed));
    }
}

#[test]
fn w3_attempts_are_the_requests_made_so_far() {
    let mut world = world(500);
    let id = enqueue(&mut world, 5);
    world.pass(Duration::from_secs(1));
    assert_eq!(status(&mut world, &id).attempts, 1);
    world.pass(Duration::from_secs(14));
    assert_eq!(status(&mut world, &id).attempts, 2);
    assert!(status(&mut world, &id).next.is_some_and(|next| next.attempt == 3));
}

#[test]
fn w8_a_late_pending_status_never_covers_what_came_after() {
    let mut world = world(200);
    let id = enqueue(&mut world, 5);
    world.pass(MINUTE);
    let (store, now) = (Arc::clone(&world.store), world.now());
    let known = status(&mut world, &id);
    let late = domain::Status::pending(id.clone(), known.config_id, 1, now);
    world
        .run(async move { delivery::ports::hot_state::HotState::apply(&*store, vec![domain::Write::Merge(late)]).await })
        .unwrap();
    assert_eq!(phase(&mut world, &id), Phase::Delivered);
}

#[test]
fn p1_p2_a_retry_is_never_before_retry_after_nor_beyond_its_window() {
    for (status, asked) in [(429, 120), (503, 45), (500, 600), (429, 86_400)] {
        let mut world = world(200);
        world.endpoints.behave(
            move |_, _, earlier| {
                if earlier == 0 { Reply::retry_after(status, asked) } else { Reply::status(200, 5) }
            },
        );
        let id = enqueue(&mut world, 5);
        world.pass(2 * DAY);
        assert_eq!(phase(&mut world, &id), Phase::Delivered);
        let seen = world.endpoints.seen();
        let waited = seen[1].at.since(seen[0].at);
        let asked = Duration::from_secs(asked);
        assert!(waited >= asked, "RT-1: {waited:?} after being asked for {asked:?}");
        assert!(waited <= asked * 3 / 2 + Duration::from_secs(2), "RT-1: {waited:?}, beyond the window of {asked:?}");
    }
}

#[test]
fn a_cooldown_belongs_to_the_endpoint_so_that_new_webhooks_wait_too() {
    let mut world = world(200);
    world.endpoints.behave(
        |_, _, earlier| {
            if earlier == 0 { Reply::retry_after(429, 300) } else { Reply::status(200, 5) }
        },
    );
    enqueue(&mut world, 5);
    world.pass(Duration::from_secs(1));
    let later = enqueue(&mut world, 5);
    world.pass(Duration::from_secs(290));
    assert_eq!(world.endpoints.seen().len(), 1, "no request is made while the cooldown holds");
    world.pass(Duration::from_secs(200));
    assert_eq!(phase(&mut world, &later), Phase::Delivered);
}

#[test]
fn a_health_url_ends_the_cooldown_or_moves_it() {
    for (healthy, within) in [(200_u16, 160), (503, 460)] {
        let mut settings = settings();
        let health = settings::EndpointSettings { health_url: "https://receiver.example/health".to_owned() };
        settings.endpoints.insert("*.example".to_owned(), health);
        settings.endpoints.insert("receiver.example".to_owned(), settings.endpoints["*.example"].clone());
        let mut world = World::new(3, settings);
        let begun = world.now();
        world.endpoints.behave(move |url, now, earlier| match (url.ends_with("/health"), earlier) {
            (true, _) if now.since(begun) < Duration::from_mins(5) => Reply::status(healthy, 1),
            (false, 0) => Reply::retry_after(429, 100),
            _ => Reply::status(200, 5),
        });
        world.start();
        let id = enqueue(&mut world, 5);
        world.pass(Duration::from_secs(within));
        assert_eq!(phase(&mut world, &id), Phase::Delivered, "health {healthy}");
        let waited = world.endpoints.seen()[1].at.since(begun);
        assert_eq!(waited >= Duration::from_mins(5), healthy == 503, "{waited:?}");
    }
}

#[test]
fn gone_is_given_up_at_once_and_disables_the_endpoint() {
    let mut world = world(410);
    let id = enqueue(&mut world, 5);
    world.pass(MINUTE);
    assert_eq!((phase(&mut world, &id), world.endpoints.seen().len()), (Phase::Dead, 1));
    let next = enqueue(&mut world, 5);
    world.pass(MINUTE);
    assert_eq!((phase(&mut world, &next), world.endpoints.seen().len()), (Phase::Held, 1));
}

#[test]
fn p16_p24_what_is_not_worth_a_retry_is_a_dead_letter_that_its_holder_can_read() {
    for answered in [300_u16, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 413, 422] {
        let mut world = world(answered);
        let id = enqueue(&mut world, 5);
        world.pass(HOUR);
        assert_eq!((phase(&mut world, &id), world.endpoints.seen().len()), (Phase::Dead, 1), "{answered}");
        let dead = world.witness.published().into_iter().find_map(|record| match record {
            Record::DeadLetter(dead_letter) => Some((dead_letter.reason, dead_letter.status)),
            _ => None,
        });
        let (reason, status) = dead.unwrap();
        assert!(reason.contains(&answered.to_string()), "{reason}");
        assert_eq!(status, Some(answered));
    }
}

#[test]
fn a_redirect_shows_where_it_pointed() {
    let mut world = world(200);
    world.endpoints.behave(|_, _, _| {
        let location = Some("https://elsewhere.example/".to_owned());
        Reply { after: Duration::ZERO, answer: Some(Answer { status: 307, location, ..Answer::default() }) }
    });
    let id = enqueue(&mut world, 5);
    world.pass(MINUTE);
    let error = status(&mut world, &id).last_error.unwrap();
    assert!(error.contains("https://elsewhere.example/"), "{error}");
}

#[test]
fn a_webhook_names_statuses_that_are_retried_too() {
    let mut world = world(404);
    let mut new = webhook("tenant", URL);
    (new.max_attempts, new.retry_on_status) = (2, vec![404]);
    let id = world.enqueue(vec![new]).remove(0);
    world.pass(HOUR);
    assert_eq!((phase(&mut world, &id), world.endpoints.seen().len()), (Phase::Dead, 2));
}

#[test]
fn attempts_have_a_cause() {
    let mut world = world(500);
    let id = enqueue(&mut world, 2);
    world.pass(HOUR);
    let (service, replayed) = (world.dead_letter_service(), id.clone());
    world.run(async move { service.replay(&replayed).await }).unwrap();
    world.pass(HOUR);
    let store = Arc::clone(&world.store);
    let attempts =
        world.run(async move { delivery::ports::statuses::Statuses::attempts(&*store, &id).await }).unwrap().unwrap();
    let causes: Vec<_> = attempts.iter().map(|attempt| (attempt.number, attempt.cause)).collect();
    assert_eq!(causes, [(1, Cause::First), (2, Cause::Retry), (1, Cause::Replay), (2, Cause::Retry)]);
}

#[test]
fn a_deferral_does_not_hide_why_the_last_attempt_failed() {
    let mut world = world(500);
    let ids: Vec<_> = (0..8).map(|_| enqueue(&mut world, 9)).collect();
    world.pass(MINUTE);
    let deferred = crate::count(
        &world,
        |record| matches!(record, Record::Waiting(waiting) if waiting.reason == domain::WaitReason::Circuit),
    );
    assert!(deferred > 0, "the open circuit defers the retries");
    for _ in 0..2 {
        for id in ids.iter().take(4) {
            let status = status(&mut world, id);
            assert_eq!((status.attempts, status.last_status), (1, Some(500)), "{status:?}");
            assert!(status.last_error.is_some());
        }
        world.lose_hot_state();
        world.pass(Duration::from_secs(5));
    }
}

#[test]
fn p3_ten_thousand_that_fail_in_one_second_do_not_come_back_in_one() {
    let mut world = world(500);
    for batch in 0..20 {
        let new = (0..500).map(|n| webhook("tenant", &format!("{URL}/{}", (batch * 500 + n) % 2500)));
        world.enqueue(new.collect());
    }
    world.pass(Duration::from_secs(2));
    let first = world.endpoints.seen().len();
    assert_eq!(first, 10_000, "all of them failed at first");
    world.endpoints.behave(|_, _, _| Reply::status(200, 5));
    world.pass(HOUR);
    let mut seconds: BTreeMap<u64, usize> = BTreeMap::new();
    world.endpoints.seen().iter().skip(first).for_each(|seen| *seconds.entry(seen.at.as_secs()).or_default() += 1);
    let fullest = seconds.values().copied().max().unwrap();
    assert_eq!(seconds.values().sum::<usize>(), 10_000);
    assert!(fullest <= 3_500, "10,000 over the 4 s that ±20 % of 10 s gives, not at once: {fullest} in one second");
}
