//! The order of the questions, each answer, and the effects of each answer.

use super::*;
use crate::effect::{Effect, Write};
use crate::samples::{Scene, later};
use crate::tally::{Bucket, Tally};

mod answers;
mod wanted;

const SETTLED: Duplicate = Duplicate { terminal: false, next: None };

/// A fact that keeps a request from being made, and the answer that it gives.
struct Obstacle {
    answer: &'static str,
    put: fn(&mut Scene),
}

const fn obstacle(answer: &'static str, put: fn(&mut Scene)) -> Obstacle {
    Obstacle { answer, put }
}

const CLAIM_TO_CIRCUIT: [Obstacle; 10] = [
    obstacle("drop", |scene| scene.facts.claim = ClaimFact::Settled(SETTLED)),
    obstacle("defer claimed", |scene| scene.facts.claim = ClaimFact::Held { until: later(9) }),
    obstacle("hold paused", |scene| scene.facts.setting = EndpointSetting::Paused),
    obstacle("hold disabled", |scene| scene.facts.setting = EndpointSetting::Disabled),
    obstacle("hold disabled", |scene| scene.facts.setting = EndpointSetting::Gone),
    obstacle("redeliver: store failed", |scene| scene.facts.endpoint = None),
    obstacle("defer cooldown", |scene| scene.endpoint().cooldown = Some(Cooldown::new(later(60), later(90)))),
    obstacle("defer cooldown", |scene| {
        let cooldown = Cooldown::new(later(0), later(90));
        scene.endpoint().cooldown = Some(Cooldown { probe_until: Some(later(10)), ..cooldown });
    }),
    obstacle("defer circuit", |scene| scene.endpoint().circuit = Circuit::Open { since: later(0) }),
    obstacle("defer circuit", |scene| {
        scene.endpoint().circuit = Circuit::HalfOpen { successes: 1, probe_until: Some(later(10)) };
    }),
];

const FAST_CROWD: [Obstacle; 4] = [
    obstacle("divert busy", |scene| scene.facts.on_domain = LeaseFact::Full),
    obstacle("divert busy", |scene| scene.facts.on_endpoint = LeaseFact::Full),
    obstacle("divert pace", |scene| {
        scene.endpoint().buckets = vec![Bucket { start: later(0), tally: Tally { slow: 3, ..Tally::default() } }];
    }),
    NO_TIME,
];

const SLOW_CROWD: [Obstacle; 4] = [
    obstacle("defer pace", |scene| scene.facts.token = Token::Wait(later(2))),
    obstacle("defer busy", |scene| scene.facts.on_domain = LeaseFact::Full),
    obstacle("defer busy", |scene| scene.facts.on_endpoint = LeaseFact::Full),
    NO_TIME,
];

const NO_TIME: Obstacle =
    obstacle("redeliver: no time", |scene| scene.moment.remaining = Some(Duration::from_secs(1)));

/// Both lanes with the obstacles that each may find, in the order of the questions.
fn lanes() -> [(Scene, Vec<&'static Obstacle>); 2] {
    [
        (Scene::new(), CLAIM_TO_CIRCUIT.iter().chain(&FAST_CROWD).collect()),
        (Scene::slow(), CLAIM_TO_CIRCUIT.iter().chain(&SLOW_CROWD).collect()),
    ]
}

fn answer(scene: &Scene) -> &'static str {
    use WaitReason::{Busy, Circuit, Claimed, Cooldown, Disabled, Pace, Paused};
    match admit(&scene.situation()) {
        Admission::Send(_) => "send",
        Admission::Probe(..) => "probe",
        Admission::Divert(Busy) => "divert busy",
        Admission::Divert(Pace) => "divert pace",
        Admission::Defer(_, Claimed) => "defer claimed",
        Admission::Defer(_, Cooldown) => "defer cooldown",
        Admission::Defer(_, Circuit) => "defer circuit",
        Admission::Defer(_, Busy) => "defer busy",
        Admission::Defer(_, Pace) => "defer pace",
        Admission::Hold(Paused) => "hold paused",
        Admission::Hold(Disabled) => "hold disabled",
        Admission::Drop(_) => "drop",
        Admission::Redeliver(Redeliver::StoreFailed) => "redeliver: store failed",
        Admission::Redeliver(Redeliver::NoTime) => "redeliver: no time",
        other @ (Admission::Divert(_) | Admission::Defer(..) | Admission::Hold(_)) => panic!("{other:?}"),
    }
}

fn effects(scene: &Scene) -> Vec<Effect> {
    let situation = scene.situation();
    admit_effects(&situation, &admit(&situation))
}

#[test]
fn without_an_obstacle_a_request_is_made() {
    for (scene, _) in lanes() {
        assert_eq!(answer(&scene), "send");
        assert_eq!(effects(&scene), []);
    }
}

#[test]
fn each_question_is_answered() {
    for (scene, obstacles) in lanes() {
        for obstacle in obstacles {
            let mut scene = scene.clone();
            (obstacle.put)(&mut scene);
            assert_eq!(answer(&scene), obstacle.answer);
        }
    }
}

#[test]
fn each_question_wins_over_every_later_one() {
    for (scene, obstacles) in lanes() {
        for (index, earlier) in obstacles.iter().enumerate() {
            let mut everything_later = scene.clone();
            for later in obstacles.iter().skip(index + 1).rev() {
                let mut one_later = scene.clone();
                (later.put)(&mut one_later);
                (earlier.put)(&mut one_later);
                assert_eq!(answer(&one_later), earlier.answer, "before {}", later.answer);
                (later.put)(&mut everything_later);
            }
            (earlier.put)(&mut everything_later);
            assert_eq!(answer(&everything_later), earlier.answer, "before everything later");
        }
    }
}

#[test]
fn a_probe_answers_the_questions_after_it_too() {
    for (mut scene, obstacles) in lanes() {
        scene.endpoint().cooldown = Some(Cooldown::new(later(0), later(90)));
        scene.endpoint().circuit = Circuit::HalfOpen { successes: 0, probe_until: None };
        assert_eq!(answer(&scene), "probe");
        for obstacle in obstacles {
            let mut scene = scene.clone();
            (obstacle.put)(&mut scene);
            assert_eq!(answer(&scene), obstacle.answer, "CB-1: a probe is no way around a limit");
        }
    }
}
