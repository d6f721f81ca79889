//! The disposition of the webhook for each outcome, and its time.

use super::*;
use crate::cooldown::RETRY_AFTER_MAX;
use crate::effect::Effect;
use crate::entropy::Entropy;
use crate::lane::{Lane, LanePolicy};
use crate::record::{Record, Waiting};
use crate::release_window::{COHORT_STEP, ReleasePolicy};
use proptest::prelude::*;

const RETRYABLE: [u16; 6] = [408, 429, 500, 502, 503, 599];

#[test]
fn every_status_has_a_disposition() {
    for status in 100..=599 {
        let expected = match status {
            200..=299 => "delivered",
            410 => "gone",
            408 | 429 | 500..=599 => "retried",
            _ => "unrecoverable",
        };
        for scene in [Scene::new(), Scene::slow()] {
            let request = Request::new(scene.attempt(4, 5), answered(status));
            assert_eq!(code(request.disposition()), expected, "{status}");
        }
        let last = if expected == "retried" { "exhausted" } else { expected };
        let request = Request::new(Scene::new().attempt(5, 5), answered(status));
        assert_eq!(code(request.disposition()), last, "DL-2: {status} at the last attempt");
    }
}

#[test]
fn a_webhook_can_have_any_status_retried_but_a_success() {
    for status in 100..=599 {
        let mut scene = Scene::new();
        scene.webhook().retry_on_status = vec![status];
        let expected = if (200..300).contains(&status) { "delivered" } else { "retried" };
        assert_eq!(code(Request::new(scene, answered(status)).disposition()), expected, "{status}");
    }
}

#[test]
fn every_failure_has_a_disposition() {
    for kind in RECOVERABLE {
        let fast = if kind == FailureKind::Timeout { "moved" } else { "retried" };
        assert_eq!(code(Request::new(Scene::new(), failed(kind)).disposition()), fast, "{kind:?}");
        assert_eq!(code(Request::new(Scene::slow(), failed(kind)).disposition()), "retried", "{kind:?}");
        for scene in [Scene::new(), Scene::slow()] {
            assert_eq!(
                code(Request::new(scene.attempt(5, 5), failed(kind)).disposition()),
                "exhausted",
                "DL-2: {kind:?}"
            );
        }
    }
    for (kind, reason) in
        [(FailureKind::AddressRefused, "address_refused"), (FailureKind::Unsendable, "unrecoverable")]
    {
        assert_eq!(code(Request::new(Scene::new(), failed(kind)).disposition()), reason);
    }
}

#[test]
fn a_fast_lane_without_a_shorter_timeout_moves_nothing() {
    let mut scene = Scene::new();
    let timeout = Duration::from_secs(30);
    scene.policy.lanes = LanePolicy::new(timeout, timeout, 20.0).unwrap();
    assert_eq!(code(Request::new(scene, failed(FailureKind::Timeout)).disposition()), "retried");
}

#[test]
fn a_failed_circuit_probe_is_repeated_when_the_circuit_recovers() {
    let probes = Probes { circuit: true, cooldown: false };
    let request = Request::new(Scene::new(), answered(500)).probing(probes);
    let recovers_at = request.ended_at.plus(Duration::from_mins(5));
    assert_eq!(request.disposition(), Disposition::Retried(recovers_at));
    let scene = Scene::new().attempt(11, 20);
    let Disposition::Retried(at) = Request::new(scene, answered(500)).probing(probes).disposition() else {
        panic!("not retried")
    };
    assert!(at > recovers_at, "the backoff is longer");
    let rested = Request::new(Scene::new(), asking(503, Duration::from_secs(20))).probing(probes);
    let Disposition::Retried(at) = rested.disposition() else { panic!("not retried") };
    assert!(at < recovers_at, "an endpoint that sends Retry-After has not failed");
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let kinds = [FailureKind::AddressRefused, FailureKind::Unsendable].into_iter().chain(RECOVERABLE);
    let kinds: Vec<_> = kinds.collect();
    let rest = proptest::option::of(0_u64..1_000_000).prop_map(|rest| rest.map(Duration::from_secs));
    prop_oneof![
        (100_u16..600, rest).prop_map(|(status, retry_after)| {
            Outcome::Answered(Answer { status, retry_after, ..Answer::default() })
        }),
        proptest::sample::select(kinds).prop_map(failed),
    ]
}

/// The dispatches that follow: published, or in a snapshot.
fn following(effects: &[Effect]) -> Vec<(u64, u32)> {
    let dispatch = |effect: &Effect| {
        let (Effect::Publish(Record::Dispatch(_, dispatch) | Record::Waiting(Waiting { dispatch, .. }))
        | Effect::Write(Write::Schedule(Waiting { dispatch, .. }))) = effect
        else {
            return None;
        };
        Some((dispatch.number, dispatch.attempt))
    };
    effects.iter().filter_map(dispatch).collect()
}

proptest! {
    #[test]
    fn rt_1_a_retry_is_never_before_retry_after_nor_beyond_its_window(
        pick in 0..RETRYABLE.len(), asked_ms in 0_u64..1_000_000_000, attempt in 1_u32..20, bits: u64, cohorts in 0_u32..5
    ) {
        let asked = Duration::from_millis(asked_ms);
        let mut scene = Scene::new().attempt(attempt, 20);
        scene.moment.entropy = Entropy::new(bits);
        scene.policy.release = ReleasePolicy::new(1.5, cohorts).unwrap();
        let request = Request::new(scene.clone(), asking(RETRYABLE[pick], asked));
        let cooldown = scene.policy.release.cooldown(asked, request.ended_at);
        prop_assert_eq!(request.finished().report().cooldown, Some(cooldown));
        let Disposition::Retried(at) = request.disposition() else { panic!("not retried") };
        prop_assert!(at >= request.ended_at.plus(asked.min(RETRY_AFTER_MAX)), "a floor");
        let latest_backoff = request.ended_at.plus(scene.policy.retry.bounds(attempt).1);
        let last_cohort = COHORT_STEP * cohorts.saturating_sub(1);
        prop_assert!(at <= cooldown.window_end.plus(last_cohort).max(latest_backoff), "a window");
    }

    #[test]
    fn without_retry_after_it_is_the_backoff(pick in 0..RETRYABLE.len(), attempt in 1_u32..20, bits: u64, slow: bool) {
        let mut scene = if slow { Scene::slow() } else { Scene::new() }.attempt(attempt, 20);
        scene.moment.entropy = Entropy::new(bits);
        let request = Request::new(scene.clone(), answered(RETRYABLE[pick]));
        let delay = scene.policy.retry.delay(attempt, Entropy::new(bits));
        prop_assert_eq!(request.disposition(), Disposition::Retried(request.ended_at.plus(delay)));
    }

    #[test]
    fn dl_2_attempts_never_exceed_the_maximum(
        outcome in any_outcome(), max in 1_u32..=100, used in 0_u32..100, slow: bool, wished in 100_u16..600
    ) {
        let attempt = used % max + 1;
        let mut scene = if slow { Scene::slow() } else { Scene::new() }.attempt(attempt, max);
        scene.webhook().retry_on_status = vec![wished];
        let Settled { disposition, effects } = Request::new(scene.clone(), outcome).settle();
        let terminal = matches!(disposition, Disposition::Delivered | Disposition::DeadLettered(_));
        let following = following(&effects);
        prop_assert_eq!(following.is_empty(), terminal, "DL-1: a webhook that has not ended has a next dispatch");
        prop_assert!(terminal || attempt < max);
        for (number, next) in following {
            prop_assert_eq!((number, next), (scene.dispatch.number + 1, attempt + 1));
        }
        prop_assert!(disposition != Disposition::MovedToSlowLane || scene.moment.lane == Lane::Fast);
    }
}
