//! Every crash point: for each decision and each k, the process stops after effect k, other processes take over, and no
//! webhook is lost (P9, DL-1).

use std::sync::Arc;
use std::time::Duration;

use delivery::ports::dead_letters::DeadLetters;
use delivery::ports::endpoints::Endpoints;
use domain::{EndpointSetting, Phase, Record};
use howk_tests::endpoint::Reply;
use howk_tests::fuse::Blow;

use crate::acts::{self, Act};
use crate::scenes::{self, Scene, config, hash};

/// What happens between the crash and the start of the processes that take over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    TakeOver,
    LoseHotStateToo,
}

/// Stops after every k and checks that the webhook still ends, and that stopping costs one request at most (P9).
fn stop_after_every_effect(scene: impl Fn() -> Scene, act: Act) {
    for blow in [Blow::Dies, Blow::FailsOnce] {
        for then in [Then::TakeOver, Then::LoseHotStateToo] {
            let mut requests = Vec::new();
            for k in 0.. {
                let mut scene = scene();
                let fuse = acts::fuse(&scene, k, blow);
                act(&mut scene, &fuse);
                let blown = fuse.has_blown();
                finish(&mut scene, then, &format!("{blow:?} after {k} effects, {then:?}"));
                requests.push(scene.world.endpoints.seen().len());
                if !blown {
                    break;
                }
            }
            let undisturbed = requests.pop().unwrap();
            assert!(!requests.is_empty(), "the act has no effect to stop after");
            let few = requests.iter().all(|count| *count <= undisturbed + 1);
            assert!(few, "{requests:?} requests, and {undisturbed} undisturbed: {blow:?}, {then:?}");
        }
    }
}

/// Other processes take over: they rebuild what is lost, the owner resumes, the endpoint answers 200; the webhook ends.
fn finish(scene: &mut Scene, then: Then, point: &str) {
    if then == Then::LoseHotStateToo {
        scene.world.lose_hot_state();
    }
    scene.world.endpoints.behave(|_, _, _| Reply::status(200, 5));
    scene.world.start();
    scene.world.pass(Duration::from_mins(1));
    let service = scene.world.endpoint_service();
    scene.world.run(async move { service.decide(&hash(), &config(), EndpointSetting::Active).await }).unwrap();
    for _ in 0..20 {
        scene.world.pass(Duration::from_mins(10));
    }
    let ended = scene.world.ended().iter().any(|(id, _)| *id == scene.id);
    assert!(ended, "DL-1: lost. {point}");
    let status = scene.world.status(&scene.id).unwrap();
    assert!(status.phase.is_terminal(), "DL-1: it ended, but reads as {:?}. {point}", status.phase);
    assert_eq!(scene.world.waiting(), 0, "something waits for ever. {point}");
    let (store, now) = (Arc::clone(&scene.world.store), scene.now());
    let view = scene.world.run(async move { store.endpoint(&hash(), now).await }).unwrap();
    assert_eq!(view.map_or(0, |view| view.inflight), 0, "LN-1: a lease is left. {point}");
    attempts_are_bounded(scene, point);
    tombstones_follow_an_end(scene, point);
}

fn attempts_are_bounded(scene: &Scene, point: &str) {
    let max_attempts = scene.dispatch().webhook.max_attempts;
    for record in scene.world.witness.published() {
        if let Record::Result(result) = record {
            assert!(result.attempt.number <= max_attempts, "DL-2: attempt {}. {point}", result.attempt.number);
        }
    }
}

fn tombstones_follow_an_end(scene: &Scene, point: &str) {
    let published = scene.world.witness.published();
    let first = |wanted: fn(&Record) -> bool| published.iter().position(wanted);
    let tombstone = first(|record| matches!(record, Record::Tombstone(..)));
    let end = first(|record| matches!(record, Record::Result(result) if result.status.phase.is_terminal()));
    if let Some(tombstone) = tombstone {
        assert!(end.is_some_and(|end| end < tombstone), "DL-3: a tombstone before the end. {point}");
    }
}

#[test]
fn delivered() {
    stop_after_every_effect(|| Scene::answering(Reply::status(200, 5)), acts::deliver);
}

#[test]
fn retried() {
    stop_after_every_effect(|| Scene::answering(Reply::status(500, 5)), acts::deliver);
}

#[test]
fn retried_behind_a_cooldown() {
    stop_after_every_effect(|| Scene::answering(Reply::retry_after(429, 60)), acts::deliver);
}

#[test]
fn exhausted() {
    stop_after_every_effect(|| Scene::with_attempts(1, Reply::status(500, 5)), acts::deliver);
}

#[test]
fn exhausted_after_a_wait() {
    stop_after_every_effect(scenes::dying, acts::deliver);
}

/// A replay can follow as soon as the dead letter is listed, and its snapshots have the same key: the tombstone comes before.
#[test]
fn what_is_listed_as_dead_waits_no_more() {
    let mut listed = 0;
    for k in 0.. {
        let mut scene = scenes::dying();
        let fuse = acts::fuse(&scene, k, Blow::Dies);
        acts::deliver(&mut scene, &fuse);
        let (store, id) = (Arc::clone(&scene.world.store), scene.id.clone());
        if scene.world.run(async move { store.find(&id).await }).unwrap().is_some() {
            listed += 1;
            let published = scene.world.witness.published();
            assert!(published.iter().any(|record| matches!(record, Record::Tombstone(..))), "after {k} effects");
        }
        if !fuse.has_blown() {
            break;
        }
    }
    assert!(listed > 1, "it is listed before the last effect");
}

#[test]
fn unrecoverable() {
    stop_after_every_effect(|| Scene::answering(Reply::status(400, 5)), acts::deliver);
}

/// A holder that takes over finds the endpoint disabled only once the webhook is dead-lettered: it is never held too (P9).
#[test]
fn a_webhook_that_got_a_410_is_never_held_too() {
    for k in 0.. {
        let mut scene = Scene::answering(Reply::status(410, 5));
        let fuse = acts::fuse(&scene, k, Blow::Dies);
        acts::deliver(&mut scene, &fuse);
        scene.world.start();
        scene.world.pass(Duration::from_mins(5));
        assert_eq!(scene.world.status(&scene.id).unwrap().phase, Phase::Dead, "after {k} effects");
        if !fuse.has_blown() {
            break;
        }
    }
}

/// A store that fails after the log took an attempt's records does not have them written once more.
#[test]
fn what_the_log_took_is_written_once_however_often_the_store_fails() {
    let published = |k: usize| {
        let mut scene = Scene::answering(Reply::status(500, 5));
        let before = scene.world.witness.published().len();
        let fuse = acts::fuse(&scene, k, Blow::FailsOnce);
        acts::deliver(&mut scene, &fuse);
        (scene.world.witness.published().len() - before, fuse.has_blown())
    };
    let (calm, _) = published(usize::MAX - 1);
    // The store is opened before, and written after.
    let failing: Vec<usize> =
        (1 + calm..100).map(published).take_while(|(_, blown)| *blown).map(|(count, _)| count).collect();
    assert!(failing.len() > 1, "the store is written in several places");
    assert_eq!(failing, vec![calm; failing.len()]);
}

#[test]
fn gone() {
    stop_after_every_effect(|| Scene::answering(Reply::status(410, 5)), acts::deliver);
}

#[test]
fn moved_to_the_slow_lane_by_a_timeout() {
    stop_after_every_effect(|| Scene::answering(Reply::hang()), acts::deliver);
}

#[test]
fn diverted() {
    stop_after_every_effect(scenes::known_slow, acts::deliver);
}

#[test]
fn deferred_by_a_cooldown() {
    stop_after_every_effect(scenes::cooldown_holding, acts::deliver);
}

#[test]
fn probing_a_cooldown() {
    stop_after_every_effect(scenes::cooldown_to_probe, acts::deliver);
}

#[test]
fn deferred_by_an_open_circuit() {
    stop_after_every_effect(scenes::circuit_open, acts::deliver);
}

#[test]
fn probing_a_circuit_that_recovers() {
    stop_after_every_effect(|| scenes::circuit_to_probe(Reply::status(200, 5)), acts::deliver);
}

#[test]
fn probing_a_circuit_that_does_not() {
    stop_after_every_effect(|| scenes::circuit_to_probe(Reply::status(500, 5)), acts::deliver);
}

#[test]
fn held() {
    stop_after_every_effect(scenes::paused, acts::deliver);
}

#[test]
fn resumed() {
    stop_after_every_effect(scenes::held, acts::resume);
}

#[test]
fn a_duplicate_of_what_waits() {
    stop_after_every_effect(scenes::waiting_duplicate, acts::deliver);
}

#[test]
fn a_duplicate_of_what_is_delivered() {
    stop_after_every_effect(scenes::delivered_duplicate, acts::deliver);
}

#[test]
fn released() {
    stop_after_every_effect(scenes::due, acts::release);
}

#[test]
fn accepted() {
    stop_after_every_effect(|| Scene::answering(Reply::status(200, 5)), acts::enqueue);
}

#[test]
fn rebuilt() {
    stop_after_every_effect(scenes::waiting_duplicate, acts::rebuild);
}

/// A pause that a crash leaves half made holds the webhook or lets it through: it is never lost, and never made twice.
#[test]
fn paused() {
    stop_after_every_effect(|| Scene::answering(Reply::status(200, 5)), acts::pause);
}

#[test]
fn disabled() {
    stop_after_every_effect(|| Scene::answering(Reply::status(200, 5)), acts::disable);
}

/// A delivery that had not read the owner's decision to go on held the webhook after the resumption: the sweep resumes it.
#[test]
fn resumed_by_a_sweep() {
    stop_after_every_effect(scenes::held_after_its_resumption, acts::sweep);
}

#[test]
fn asked_by_a_sweep_whether_a_cooldown_is_over() {
    for answer in [200, 503] {
        stop_after_every_effect(|| scenes::cooldown_with_health_url(answer), acts::sweep);
    }
}

#[test]
fn replayed() {
    replay_after_every_effect(acts::replay);
}

#[test]
fn replayed_by_filter() {
    replay_after_every_effect(acts::replay_matching);
}

/// The owner sees that the dead letter is still listed and replays it again, once the first replay's lease has run out.
fn replay_after_every_effect(act: Act) {
    for blow in [Blow::Dies, Blow::FailsOnce] {
        for then in [Then::TakeOver, Then::LoseHotStateToo] {
            for k in 0.. {
                let mut scene = scenes::dead();
                let fuse = acts::fuse(&scene, k, blow);
                act(&mut scene, &fuse);
                if then == Then::LoseHotStateToo {
                    scene.world.lose_hot_state();
                    scene.world.rebuild();
                }
                scene.world.pass(Duration::from_secs(31));
                let unblown = acts::fuse(&scene, usize::MAX - 1, Blow::Dies);
                act(&mut scene, &unblown);
                let point = format!("{blow:?} after {k} effects of a replay, {then:?}");
                finish(&mut scene, Then::TakeOver, &point);
                let ended = scene.world.ended();
                let deliveries = ended.iter().filter(|(_, phase)| *phase == Phase::Delivered).count();
                assert_eq!(deliveries, 1, "two replays of one dead letter deliver it once. {point}");
                let (store, id) = (Arc::clone(&scene.world.store), scene.id.clone());
                let listed = scene.world.run(async move { store.find(&id).await }).unwrap();
                assert_eq!(listed, None, "what was delivered is listed no more. {point}");
                if !fuse.has_blown() {
                    assert!(k > 4, "a replay has effects to stop after");
                    break;
                }
            }
        }
    }
}
