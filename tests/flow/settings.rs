//! The owners' decisions: pause, resume, disable, enable, replay.

use std::time::Duration;

use delivery::dead_letters::Replayed;
use delivery::ports::dead_letters::DeadLetterFilter;
use domain::{ConfigId, EndpointHash, EndpointSetting, Phase};
use howk_tests::endpoint::Reply;
use howk_tests::world::{World, webhook};

use crate::{HOUR, MINUTE, URL, enqueue, enqueue_many, phase, world};

fn decide(world: &mut World, state: EndpointSetting) -> u64 {
    let (service, config) = (world.endpoint_service(), ConfigId::parse("tenant").unwrap());
    world.run(async move { service.decide(&EndpointHash::of(URL), &config, state).await }).unwrap()
}

#[test]
fn p17_what_is_accepted_while_paused_or_disabled_is_held_and_sent_on_resume() {
    for state in [EndpointSetting::Paused, EndpointSetting::Disabled] {
        let mut world = world(200);
        decide(&mut world, state);
        let ids = enqueue_many(&mut world, 7);
        world.pass(HOUR);
        assert_eq!(world.endpoints.seen().len(), 0);
        assert!(ids.iter().all(|id| phase(&mut world, id) == Phase::Held));
        assert_eq!(decide(&mut world, EndpointSetting::Active), 7);
        world.pass(MINUTE);
        assert!(ids.iter().all(|id| phase(&mut world, id) == Phase::Delivered));
        assert_eq!(world.endpoints.seen().len(), 7);
    }
}

#[test]
fn a_pause_is_one_tenants_own() {
    let mut world = world(200);
    decide(&mut world, EndpointSetting::Paused);
    let id = world.enqueue(vec![webhook("another", URL)]).remove(0);
    world.pass(MINUTE);
    assert_eq!(phase(&mut world, &id), Phase::Delivered);
}

#[test]
fn a_pause_and_what_it_held_survive_the_loss_of_the_hot_state() {
    let mut world = world(200);
    decide(&mut world, EndpointSetting::Paused);
    let held = enqueue(&mut world, 5);
    world.pass(MINUTE);
    world.lose_hot_state();
    world.pass(MINUTE);
    let later = enqueue(&mut world, 5);
    world.pass(MINUTE);
    assert_eq!(phase(&mut world, &held), Phase::Held);
    assert_eq!(phase(&mut world, &later), Phase::Held, "the endpoint is still paused");
    assert_eq!(decide(&mut world, EndpointSetting::Active), 2);
    world.pass(MINUTE);
    assert_eq!(world.endpoints.seen().len(), 2);
}

#[test]
fn a_dead_letter_is_replayed_once_however_many_ask() {
    let mut world = world(500);
    let id = enqueue(&mut world, 1);
    world.pass(MINUTE);
    assert_eq!(phase(&mut world, &id), Phase::Dead);
    world.endpoints.behave(|_, _, _| Reply::status(200, 5));
    let (service, asked) = (world.dead_letter_service(), id.clone());
    let answers = world.run(async move { futures::future::join_all((0..64).map(|_| service.replay(&asked))).await });
    let replayed = answers.iter().filter(|answer| matches!(answer, Ok(Replayed::Yes(_)))).count();
    assert_eq!(replayed, 1);
    world.pass(MINUTE);
    assert_eq!(phase(&mut world, &id), Phase::Delivered);
    assert_eq!(world.endpoints.seen().len(), 2);
}

#[test]
fn replaying_by_filter_sends_each_matching_letter_once_with_two_callers_at_once() {
    let mut world = world(500);
    let new: Vec<_> = (0..450)
        .map(|n| {
            let mut new = webhook(if n % 3 == 0 { "another" } else { "tenant" }, URL);
            new.max_attempts = 1;
            new
        })
        .collect();
    let mut settled = 0;
    world.enqueue(new);
    while settled < 450 {
        world.pass(HOUR);
        settled = world.ended().len();
    }
    world.endpoints.behave(|_, _, _| Reply::status(200, 5));
    world.pass(HOUR);
    let before = world.endpoints.seen().len();
    let filter = DeadLetterFilter { config_id: ConfigId::parse("tenant").ok(), ..DeadLetterFilter::default() };
    let (one, two) = (world.dead_letter_service(), world.dead_letter_service());
    let (first, second) =
        world.run(async move { futures::join!(one.replay_matching(&filter), two.replay_matching(&filter)) });
    assert_eq!(first.unwrap().len() + second.unwrap().len(), 300);
    for _ in 0..10 {
        world.pass(HOUR);
    }
    assert_eq!(world.endpoints.seen().len() - before, 300);
}

#[test]
fn a_webhook_that_dies_again_can_be_replayed_again() {
    let mut world = world(400);
    let id = enqueue(&mut world, 1);
    for round in 1..4 {
        world.pass(MINUTE);
        assert_eq!(world.endpoints.seen().len(), round);
        let answer = if round == 3 { 200 } else { 400 };
        world.endpoints.behave(move |_, _, _| Reply::status(answer, 5));
        let (service, asked) = (world.dead_letter_service(), id.clone());
        let answer = world.run(async move { service.replay(&asked).await }).unwrap();
        assert!(matches!(answer, Replayed::Yes(_)), "{answer:?}");
    }
    world.pass(MINUTE);
    let (service, asked) = (world.dead_letter_service(), id);
    assert_eq!(world.run(async move { service.replay(&asked).await }).unwrap(), Replayed::NotFound);
    world.pass(Duration::from_secs(1));
}
