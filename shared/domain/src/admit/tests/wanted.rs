//! The effects of each answer, and their order.

use super::*;
use crate::effect::{Leases, Settlement};
use crate::record::Record;
use crate::samples::{FENCE, NOW, assert_order, waiting, words};
use crate::status::{Next, Phase};

fn with(mut scene: Scene, put: fn(&mut Scene)) -> Scene {
    put(&mut scene);
    scene
}

fn settlement(effects: &[Effect]) -> &Settlement {
    let found = effects.iter().find_map(|effect| {
        if let Effect::Write(Write::Settle(settlement)) = effect { Some(settlement) } else { None }
    });
    found.expect("a settlement")
}

fn leases(effects: &[Effect]) -> &Leases {
    let found = effects
        .iter()
        .find_map(|effect| if let Effect::Write(Write::GiveBack(leases)) = effect { Some(leases) } else { None });
    found.expect("LN-1: leases are given back")
}

#[test]
fn durable_first_hot_state_second_forgetting_last() {
    for (scene, obstacles) in lanes() {
        for obstacle in obstacles {
            let mut scene = scene.clone();
            (obstacle.put)(&mut scene);
            let effects = effects(&scene);
            assert_order(&effects);
            let expected: &[_] = match obstacle.answer.split(' ').next() {
                Some("drop") => &["give back"],
                Some("divert") => &["publish to slow", "settle", "give back"],
                Some("hold") => &["publish waiting", "hold", "settle", "give back"],
                Some("redeliver:") => &["give back", "unclaim"],
                Some(_) if obstacle.answer == "defer claimed" => &["publish waiting", "schedule", "give back"],
                _ => &["publish waiting", "schedule", "settle", "give back"],
            };
            assert_eq!(words(&effects), expected, "{}", obstacle.answer);
        }
    }
}

#[test]
fn no_attempt_is_used_and_the_next_dispatch_has_the_next_number() {
    for (scene, obstacles) in lanes() {
        let waits = |answer: &str| answer.starts_with("hold") || answer.starts_with("defer");
        let ours = obstacles.iter().filter(|obstacle| waits(obstacle.answer) && obstacle.answer != "defer claimed");
        for obstacle in ours {
            let mut scene = scene.clone().attempt(3, 5);
            scene.dispatch.number = 8;
            (obstacle.put)(&mut scene);
            let effects = effects(&scene);
            let waiting = waiting(&effects);
            assert_eq!((waiting.dispatch.number, waiting.dispatch.attempt), (9, 3), "{}", obstacle.answer);
            let Settlement { fence, status, attempt } = settlement(&effects);
            assert_eq!((*fence, status.dispatch, status.attempts, attempt), (Some(FENCE), 8, 2, &None));
            assert_eq!(status.next, Some(Next { due: waiting.due, attempt: 3 }));
            assert!(status.phase.is_settled());
        }
    }
}

#[test]
fn what_waits_says_why_where_and_since_when() {
    for (obstacle, phase, lane) in [
        (&CLAIM_TO_CIRCUIT[2], Phase::Held, Lane::Fast),
        (&CLAIM_TO_CIRCUIT[3], Phase::Held, Lane::Fast),
        (&CLAIM_TO_CIRCUIT[6], Phase::Waiting, Lane::Fast),
        (&CLAIM_TO_CIRCUIT[8], Phase::Waiting, Lane::Fast),
        (&SLOW_CROWD[0], Phase::Waiting, Lane::Slow),
        (&SLOW_CROWD[1], Phase::Waiting, Lane::Slow),
    ] {
        let scene = with(Scene::slow(), obstacle.put);
        let effects = effects(&scene);
        let waiting = waiting(&effects);
        let reason = obstacle.answer.split(' ').next_back().expect("a reason");
        assert_eq!((waiting.reason.code(), waiting.lane), (reason, lane));
        assert_eq!(settlement(&effects).status.phase, phase);
        assert_eq!(waiting.reason.is_held(), phase == Phase::Held);
        assert!(phase == Phase::Waiting || waiting.due == NOW, "held since now");
    }
}

#[test]
fn a_snapshot_carries_the_cooldown_without_its_probe() {
    let scene = with(Scene::new(), CLAIM_TO_CIRCUIT[7].put);
    assert_eq!(waiting(&effects(&scene)).cooldown, Some(Cooldown::new(later(0), later(90))));
}

#[test]
fn a_diverted_dispatch_is_handed_to_the_slow_lane_at_once() {
    let scene = with(Scene::new(), FAST_CROWD[0].put);
    let effects = effects(&scene);
    let Effect::Publish(Record::Dispatch(Lane::Slow, next)) = &effects[0] else { panic!("{effects:?}") };
    assert_eq!((next.number, next.attempt, next.scheduled_at, next.waited), (2, 1, NOW, false));
    let status = &settlement(&effects).status;
    assert_eq!((status.dispatch, status.phase, status.settled()), (2, Phase::Pending, 1));
}

/// CL-1: a takeover that makes no request is not forgotten, whatever the attempt has to wait for.
#[test]
fn an_attempt_that_was_taken_over_stays_one_in_its_next_dispatch() {
    let taken = |takeover| ClaimFact::Taken { fence: FENCE, takeover };
    for (claim, before, after) in [
        (taken(false), false, false),
        (taken(true), false, true),
        (taken(false), true, true),
        (taken(true), true, true),
    ] {
        let mut diverted = with(Scene::new(), FAST_CROWD[0].put);
        let mut deferred = with(Scene::new(), CLAIM_TO_CIRCUIT[7].put);
        for scene in [&mut diverted, &mut deferred] {
            (scene.facts.claim, scene.dispatch.taken_over) = (claim, before);
        }
        let effects = effects(&diverted);
        let Effect::Publish(Record::Dispatch(_, next)) = &effects[0] else { panic!("{effects:?}") };
        assert_eq!(next.taken_over, after, "{claim:?} {before}");
        assert_eq!(waiting(&super::effects(&deferred)).dispatch.taken_over, after, "{claim:?} {before}");
    }
}

/// CL-1: the claim of a takeover that makes no request runs out, so that the next holder takes the dispatch over too.
#[test]
fn a_claim_that_was_taken_over_is_not_given_back() {
    for (takeover, expected) in [(false, &["give back", "unclaim"][..]), (true, &["give back"])] {
        let mut scene = with(Scene::new(), NO_TIME.put);
        scene.facts.claim = ClaimFact::Taken { fence: FENCE, takeover };
        assert_eq!(words(&effects(&scene)), expected);
    }
}

#[test]
fn a_fault_before_the_first_effect_gives_back_what_acquire_took() {
    for (scene, obstacles) in lanes() {
        for obstacle in obstacles {
            let scene = with(scene.clone(), obstacle.put);
            let expected: &[_] = match obstacle.answer.split(' ').next() {
                Some("drop") => &[],
                Some("divert") => &["give back"],
                Some(_) if obstacle.answer == "defer claimed" => &["give back"],
                _ => &["give back", "unclaim"],
            };
            assert_eq!(
                words(&compensate(&scene.situation(), &admit(&scene.situation()))),
                expected,
                "{}",
                obstacle.answer
            );
        }
    }
}

#[test]
fn cl_1_a_dispatch_that_another_holder_claims_comes_back_as_the_same_dispatch() {
    for (scene, lane) in [(Scene::new(), Lane::Fast), (Scene::slow(), Lane::Slow)] {
        let scene = with(scene, CLAIM_TO_CIRCUIT[1].put);
        let waiting = waiting(&effects(&scene));
        assert_eq!((waiting.dispatch.number, waiting.due, waiting.lane), (1, later(9), lane));
    }
}

#[test]
fn a_duplicate_repeats_what_a_crash_may_have_cut_off() {
    let next = Some(Next { due: later(20), attempt: 2 });
    for (terminal, next, waited, expected) in [
        (false, None, true, &["give back"][..]),
        (false, next, false, &["give back", "schedule"]),
        (true, None, false, &["give back"]),
        (true, None, true, &["give back", "publish tombstone"]),
    ] {
        let mut scene = Scene::new();
        (scene.facts.claim, scene.dispatch.waited) = (ClaimFact::Settled(Duplicate { terminal, next }), waited);
        let effects = effects(&scene);
        assert_eq!(words(&effects), expected, "DL-3: {terminal} {next:?} {waited}");
        assert_order(&effects);
        for effect in effects {
            if let Effect::Write(Write::Schedule(waiting)) = effect {
                assert_eq!((waiting.due, waiting.reason), (later(20), WaitReason::Retry));
                assert_eq!((waiting.dispatch.number, waiting.dispatch.attempt), (2, 2));
            } else if let Effect::Publish(Record::Tombstone(id, through)) = effect {
                assert_eq!((id, through), (scene.dispatch.webhook.id.clone(), 1));
            }
        }
    }
}

#[test]
fn ln_1_exactly_what_was_taken_is_given_back() {
    let mut scene = with(Scene::slow(), CLAIM_TO_CIRCUIT[2].put);
    let pace = scene.policy.lanes.pace();
    for (on_endpoint, on_domain, token, unused) in [
        (LeaseFact::Taken, LeaseFact::Full, Token::Taken, Some(pace)),
        (LeaseFact::Full, LeaseFact::Taken, Token::Free, None),
        (LeaseFact::Unlimited, LeaseFact::Unlimited, Token::Wait(NOW), None),
    ] {
        (scene.facts.on_endpoint, scene.facts.on_domain, scene.facts.token) = (on_endpoint, on_domain, token);
        let effects = effects(&scene);
        let given = leases(&effects);
        assert_eq!(
            (given.on_endpoint, given.on_domain),
            (on_endpoint == LeaseFact::Taken, on_domain == LeaseFact::Taken)
        );
        assert_eq!((given.unused_token, given.holder.as_str()), (unused, "holder"));
    }
}

#[test]
fn without_a_claim_there_is_no_fence_and_nothing_to_give_back() {
    let mut scene = with(Scene::new(), NO_TIME.put);
    scene.facts.claim = ClaimFact::Unknown;
    assert_eq!(words(&effects(&scene)), ["give back"]);
    (FAST_CROWD[0].put)(&mut scene);
    assert_eq!(settlement(&effects(&scene)).fence, None);
}
