//! The contents of each answer: times, send plans, changes of state, causes.

use super::*;
use crate::entropy::Entropy;
use crate::facts::Moment;
use crate::lane::{LanePolicy, SETTLE_MARGIN};
use crate::samples::{FENCE, NOW, at};
use crate::status::Cause;
use crate::webhook::LastFailure;
use proptest::prelude::*;
use std::sync::Arc;

fn plan(scene: &Scene) -> SendPlan {
    let admission = admit(&scene.situation());
    let (Admission::Send(plan) | Admission::Probe(_, plan)) = admission else { panic!("{admission:?}") };
    plan
}

fn transition(scene: &Scene) -> Transition {
    let admission = admit(&scene.situation());
    let Admission::Probe(transition, _) = admission else { panic!("{admission:?}") };
    transition
}

fn deferred(scene: &Scene) -> Timestamp {
    let admission = admit(&scene.situation());
    let Admission::Defer(until, _) = admission else { panic!("{admission:?}") };
    until
}

#[test]
fn a_plan_holds_the_lanes_timeout_and_the_last_attempt_the_full_one() {
    let seconds = |scene: Scene| plan(&scene).timeout.as_secs();
    assert_eq!(seconds(Scene::new().attempt(1, 5)), 5);
    assert_eq!(seconds(Scene::new().attempt(4, 5)), 5);
    assert_eq!(seconds(Scene::new().attempt(5, 5)), 30, "no attempt follows the last one");
    assert_eq!(seconds(Scene::new().attempt(1, 1)), 30);
    assert_eq!(seconds(Scene::slow().attempt(1, 5)), 30);
}

#[test]
fn a_request_needs_its_timeout_and_the_margin() {
    for (scene, needed) in [
        (Scene::new(), Duration::from_secs(10)),
        (Scene::new().attempt(5, 5), Duration::from_secs(35)),
        (Scene::slow(), Duration::from_secs(35)),
    ] {
        let with = |remaining| Scene { moment: Moment { remaining, ..scene.moment }, ..scene.clone() };
        assert_eq!(answer(&with(Some(needed))), "send");
        assert_eq!(answer(&with(Some(needed.saturating_sub(Duration::from_nanos(1))))), "redeliver: no time");
        assert_eq!(answer(&with(Some(Duration::ZERO))), "redeliver: no time");
        assert_eq!(answer(&with(None)), "send", "a server has no deadline");
    }
}

#[test]
fn with_on_store_failure_open_an_unknown_circuit_counts_as_closed() {
    let mut scene = Scene::new();
    scene.facts.endpoint = None;
    assert_eq!(answer(&scene), "redeliver: store failed");
    scene.policy.on_store_failure = OnStoreFailure::Open;
    assert_eq!(answer(&scene), "send");
    scene.facts.claim = ClaimFact::Unknown;
    assert_eq!((plan(&scene).fence, plan(&scene).cause), (None, Cause::Unclaimed));
}

#[test]
fn each_request_has_a_cause() {
    let taken = |takeover| ClaimFact::Taken { fence: FENCE, takeover };
    for (claim, attempt, replayed_from, cause) in [
        (taken(false), 1, 0, Cause::First),
        (taken(false), 2, 0, Cause::Retry),
        (taken(false), 1, 4, Cause::Replay),
        (taken(false), 2, 4, Cause::Retry),
        (taken(true), 1, 0, Cause::Takeover),
        (taken(true), 3, 4, Cause::Takeover),
        (ClaimFact::Unknown, 1, 0, Cause::Unclaimed),
        (ClaimFact::Unknown, 2, 4, Cause::Unclaimed),
    ] {
        let mut scene = Scene::new().attempt(attempt, 5);
        (scene.facts.claim, scene.dispatch.replayed_from) = (claim, replayed_from);
        assert_eq!(plan(&scene).cause, cause, "{claim:?} {attempt} {replayed_from}");
        assert_eq!(plan(&scene).fence.is_some(), claim != ClaimFact::Unknown);
    }
}

#[test]
fn a_request_that_a_lost_store_may_have_forgotten_says_so() {
    let doubted = |scene: &Scene| plan(scene).cause == Cause::Unclaimed;
    let mut scene = Scene::new();
    let accepted_at = scene.webhook().created_at;
    scene.facts.memory = Memory::Since(accepted_at.plus(Duration::from_millis(1)));
    assert!(doubted(&scene), "it may have been made before");
    scene.facts.memory = Memory::Since(accepted_at);
    assert!(!doubted(&scene), "it was accepted after the rebuild");
    let mut retry = Scene::new().attempt(2, 5);
    retry.facts.memory = Memory::Since(NOW);
    for (failed_at, doubtful) in [(NOW.minus(Duration::from_millis(1)), true), (NOW, false)] {
        let failure = LastFailure { at: failed_at, status: Some(500), error: String::new() };
        retry.dispatch.last_failure = Some(Arc::new(failure));
        assert_eq!(doubted(&retry), doubtful, "a retry is possible from the failure on");
    }
    retry.facts.claim = ClaimFact::Taken { fence: FENCE, takeover: true };
    retry.facts.memory = Memory::Since(later(10));
    assert_eq!(plan(&retry).cause, Cause::Takeover, "what the store does know comes first");
}

/// A caller that repeats a key after the loss makes the webhook again, and the store does not know yet that it ended.
#[test]
fn what_has_a_key_is_doubted_until_every_status_is_back() {
    for (key, memory, replayed_from, doubtful) in [
        (true, Memory::StatusesPending(Timestamp::EPOCH), 0, true),
        (false, Memory::StatusesPending(Timestamp::EPOCH), 0, false),
        (false, Memory::StatusesPending(later(1)), 0, true),
        (true, Memory::StatusesPending(Timestamp::EPOCH), 3, false),
        (true, Memory::Since(Timestamp::EPOCH), 0, false),
    ] {
        let mut scene = Scene::new();
        scene.webhook().idempotency_key = key.then(|| "order 7".to_owned());
        (scene.facts.memory, scene.dispatch.replayed_from) = (memory, replayed_from);
        assert_eq!(plan(&scene).cause == Cause::Unclaimed, doubtful, "{key} {memory:?} {replayed_from}");
    }
}

#[test]
fn an_attempt_that_was_deferred_after_a_takeover_is_still_one() {
    let mut scene = Scene::new().attempt(2, 5);
    scene.dispatch.taken_over = true;
    assert_eq!(plan(&scene).cause, Cause::Takeover);
    let failure = LastFailure { at: NOW, status: None, error: String::new() };
    assert!(!scene.dispatch.next_attempt(NOW, failure).taken_over, "the next attempt is no takeover");
    assert!(!scene.dispatch.replay(NOW).taken_over);
}

#[test]
fn a_store_that_is_not_rebuilt_decides_nothing() {
    let mut scene = Scene::new();
    scene.facts.memory = Memory::Lost;
    assert_eq!(answer(&scene), "redeliver: store failed");
    scene.policy.on_store_failure = OnStoreFailure::Open;
    assert_eq!(answer(&scene), "redeliver: store failed", "the rebuild ends soon, so this holds for either setting");
}

#[test]
fn cb_1_the_first_request_after_the_recovery_time_is_the_probe() {
    let opened = Circuit::Open { since: NOW.minus(Duration::from_mins(5)) };
    let half = Circuit::HalfOpen { successes: 1, probe_until: None };
    let lost = Circuit::HalfOpen { successes: 1, probe_until: Some(NOW) };
    for (scene, lease) in
        [(Scene::new(), later(10)), (Scene::new().attempt(5, 5), later(35)), (Scene::slow(), later(35))]
    {
        for (circuit, successes) in [(opened, 0), (half, 1), (lost, 1)] {
            let mut scene = scene.clone();
            scene.endpoint().circuit = circuit;
            let expected = Transition {
                endpoint: scene.dispatch.webhook.endpoint.clone(),
                version: 3,
                circuit: Circuit::HalfOpen { successes, probe_until: Some(lease) },
                cooldown: None,
            };
            assert_eq!(transition(&scene), expected, "a probe's lease outlives its request");
            assert_eq!(plan(&scene).probes, Probes { circuit: true, cooldown: false });
            scene.endpoint().circuit = expected.circuit;
            assert_eq!(answer(&scene), "defer circuit", "all others wait for it");
        }
    }
}

#[test]
fn rt_1_the_first_request_after_a_cooldown_is_its_probe() {
    let cooldown = Cooldown::new(NOW, later(60));
    let mut scene = Scene::new();
    scene.endpoint().cooldown = Some(cooldown);
    let probed = transition(&scene);
    assert_eq!((probed.version, probed.circuit), (3, Circuit::default()));
    assert_eq!(probed.cooldown, Some(Cooldown { probe_until: Some(later(10)), ..cooldown }));
    assert_eq!(plan(&scene).probes, Probes { circuit: false, cooldown: true });
    scene.endpoint().cooldown = probed.cooldown;
    assert_eq!(answer(&scene), "defer cooldown", "all others wait for it");
    for open in [Cooldown { confirmed: true, ..cooldown }, Cooldown::new(at(0), NOW)] {
        scene.endpoint().cooldown = Some(open);
        assert_eq!((answer(&scene), plan(&scene).probes), ("send", Probes::default()));
    }
}

#[test]
fn one_request_may_be_both_probes() {
    let mut scene = Scene::new();
    scene.endpoint().cooldown = Some(Cooldown::new(NOW, later(60)));
    scene.endpoint().circuit = Circuit::HalfOpen { successes: 0, probe_until: None };
    assert_eq!(plan(&scene).probes, Probes { circuit: true, cooldown: true });
    let probed = transition(&scene);
    assert_eq!(probed.circuit, Circuit::HalfOpen { successes: 0, probe_until: Some(later(10)) });
    assert_eq!(probed.cooldown.and_then(|cooldown| cooldown.probe_until), Some(later(10)));
}

#[test]
fn times_of_deferrals() {
    let drawn = |scene: &Scene| {
        [0, u64::MAX].map(|bits| {
            let moment = Moment { entropy: Entropy::new(bits), ..scene.moment };
            deferred(&Scene { moment, ..scene.clone() })
        })
    };
    let mut scene = Scene::new();
    scene.endpoint().cooldown = Some(Cooldown::new(later(60), later(90)));
    assert_eq!(drawn(&scene), [later(60), later(90)], "RT-1: within the window");
    let mut scene = Scene::new();
    scene.endpoint().circuit = Circuit::Open { since: NOW };
    assert_eq!(drawn(&scene), [later(300), later(360)], "P3: not in lockstep");
    let mut scene = Scene::slow();
    scene.facts.on_endpoint = LeaseFact::Full;
    let interval = Duration::from_millis(50);
    assert_eq!(drawn(&scene), [NOW.plus(interval), later(30).plus(interval)]);
    scene.facts.token = Token::Wait(later(2));
    assert_eq!(drawn(&scene), [later(2); 2], "its turn");
    scene.facts.claim = ClaimFact::Held { until: later(9) };
    assert_eq!(drawn(&scene), [later(9); 2]);
}

fn any_circuit() -> impl Strategy<Value = Circuit> {
    let span = 0_u64..700_000;
    let past = span.clone().prop_map(|ms| NOW.minus(Duration::from_millis(ms)));
    let probe = proptest::option::of(span.prop_map(|ms| at(NOW.as_ms() - 350_000 + ms)));
    prop_oneof![
        past.clone().prop_map(|since| Circuit::Closed { since }),
        past.prop_map(|since| Circuit::Open { since }),
        (0_u32..3, probe).prop_map(|(successes, probe_until)| Circuit::HalfOpen { successes, probe_until }),
    ]
}

fn any_cooldown() -> impl Strategy<Value = Cooldown> {
    let probe = proptest::option::of(0_u64..200_000);
    (0_u64..200_000, 0_u64..200_000, probe, any::<bool>()).prop_map(|(opens, width, probe, confirmed)| {
        let from = |ms: u64| at(NOW.as_ms() - 100_000 + ms);
        let (ends_at, window_end) = (from(opens), from(opens + width));
        Cooldown { ends_at, window_end, probe_until: probe.map(from), confirmed }
    })
}

proptest! {
    #[test]
    fn cb_1_and_rt_1_nothing_is_sent_where_it_must_not_be(
        circuit in any_circuit(), cooldown in proptest::option::of(any_cooldown()), slow: bool, bits: u64
    ) {
        let mut scene = if slow { Scene::slow() } else { Scene::new() };
        (scene.endpoint().circuit, scene.endpoint().cooldown) = (circuit, cooldown);
        scene.moment.entropy = Entropy::new(bits);
        let closed = cooldown.is_some_and(|cooldown| NOW < cooldown.ends_at);
        match admit(&scene.situation()) {
            Admission::Send(plan) => {
                prop_assert!(!closed && plan.probes == Probes::default());
                let passes = matches!(circuit, Circuit::Closed { .. });
                prop_assert!(passes);
            }
            Admission::Probe(change, plan) => {
                prop_assert!(!closed && (plan.probes.circuit || plan.probes.cooldown));
                let half = matches!(change.circuit, Circuit::HalfOpen { probe_until: Some(until), .. } if until > NOW);
                prop_assert_eq!(plan.probes.circuit, half);
                prop_assert_eq!(plan.probes.circuit, !matches!(circuit, Circuit::Closed { .. }));
            }
            Admission::Defer(until, WaitReason::Cooldown) => {
                let cooldown = cooldown.expect("a cooldown");
                prop_assert!(until >= cooldown.ends_at && until >= NOW && until <= cooldown.window_end.max(NOW));
            }
            Admission::Defer(until, WaitReason::Circuit) => prop_assert!(until > NOW),
            other @ (Admission::Divert(_)
            | Admission::Defer(..)
            | Admission::Hold(_)
            | Admission::Drop(_)
            | Admission::Redeliver(_)) => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn a_plan_never_outlasts_what_remains(remaining_ms in 0_u64..60_000, fast in 100_u64..30_000, attempt in 1_u32..=5) {
        let mut scene = Scene::new().attempt(attempt, 5);
        let timeouts = (Duration::from_millis(fast), Duration::from_secs(30));
        scene.policy.lanes = LanePolicy::new(timeouts.0, timeouts.1, 20.0).unwrap();
        let remaining = Duration::from_millis(remaining_ms);
        scene.moment.remaining = Some(remaining);
        if answer(&scene) == "send" {
            prop_assert!(plan(&scene).timeout + SETTLE_MARGIN <= remaining);
        }
    }
}
