//! What an outcome says about the endpoint: its circuit's counters, its slowness, its cooldown.

use super::*;
use crate::lane::LanePolicy;

const GOOD: Tally = Tally { failures: 0, successes: 1, slow: 0 };
const BAD: Tally = Tally { failures: 1, successes: 0, slow: 0 };
const NEUTRAL: Tally = Tally { failures: 0, successes: 0, slow: 0 };
const ASKED: Duration = Duration::from_mins(1);

fn tally(scene: Scene, outcome: Outcome) -> Tally {
    Request::new(scene, outcome).finished().report().tally
}

#[test]
fn what_counts_for_and_against_the_circuit() {
    for (outcome, expected) in [
        (answered(200), GOOD),
        (answered(204), GOOD),
        (answered(301), GOOD),
        (answered(400), GOOD),
        (answered(401), GOOD),
        (answered(404), GOOD),
        (answered(410), GOOD),
        (answered(422), GOOD),
        (asking(404, ASKED), GOOD),
        (answered(408), BAD),
        (answered(429), BAD),
        (answered(500), BAD),
        (answered(503), BAD),
        (asking(408, ASKED), NEUTRAL),
        (asking(429, ASKED), NEUTRAL),
        (asking(429, Duration::ZERO), NEUTRAL),
        (asking(503, ASKED), NEUTRAL),
        (failed(FailureKind::Dns), BAD),
        (failed(FailureKind::Connect), BAD),
        (failed(FailureKind::Tls), BAD),
        (failed(FailureKind::Transport), BAD),
        (failed(FailureKind::AddressRefused), NEUTRAL),
        (failed(FailureKind::Unsendable), NEUTRAL),
        (failed(FailureKind::Sealed), NEUTRAL),
    ] {
        for scene in [Scene::new(), Scene::slow(), Scene::new().attempt(5, 5)] {
            assert_eq!(tally(scene, outcome.clone()), expected, "{outcome:?}");
        }
    }
}

#[test]
fn a_callers_payload_counts_for_the_endpoint_whatever_the_status() {
    for status in (100..600).filter(|status| !matches!(status, 408 | 429 | 500..)) {
        assert_eq!(tally(Scene::new(), answered(status)), GOOD, "{status}");
    }
}

#[test]
fn the_fast_lanes_timeout_is_slow_and_the_full_one_is_bad() {
    let timeout = || failed(FailureKind::Timeout);
    let slow = Tally { slow: 1, ..NEUTRAL };
    assert_eq!(tally(Scene::new(), timeout()), slow, "the short timeout cut it off");
    assert_eq!(tally(Scene::slow(), timeout()), BAD);
    assert_eq!(tally(Scene::new().attempt(5, 5), timeout()), BAD, "the last attempt had the full time");
    let mut equal = Scene::new();
    equal.policy.lanes = LanePolicy::new(ASKED, ASKED, 1.0).unwrap();
    assert_eq!(tally(equal, timeout()), BAD);
}

#[test]
fn what_outlasts_the_fast_lane_is_slow_whatever_came_of_it() {
    for (milliseconds, slow) in [(0, 0), (4_999, 0), (5_000, 1), (29_000, 1)] {
        for (outcome, expected) in [(answered(200), GOOD), (answered(404), GOOD), (answered(500), BAD)] {
            let ended_at = NOW.plus(Duration::from_millis(milliseconds));
            let request = Request { ended_at, ..Request::new(Scene::slow(), outcome) };
            assert_eq!(request.finished().report().tally, Tally { slow, ..expected }, "{milliseconds} ms");
            assert_eq!(request.finished().attempt().took, Duration::from_millis(milliseconds));
        }
    }
}

#[test]
fn a_clock_that_went_back_makes_no_negative_time() {
    let ended_at = NOW.minus(Duration::from_secs(1));
    let request = Request { ended_at, ..Request::new(Scene::new(), answered(200)) };
    assert_eq!(request.finished().attempt().took, Duration::ZERO);
}

#[test]
fn only_an_answer_that_is_retried_sets_a_cooldown() {
    let cooldown = |scene: Scene, outcome| Request::new(scene, outcome).finished().report().cooldown;
    for status in [200, 204, 301, 400, 404, 410, 413] {
        assert_eq!(cooldown(Scene::new(), asking(status, ASKED)), None, "{status}");
    }
    for scene in [Scene::new(), Scene::slow(), Scene::new().attempt(5, 5)] {
        let ends_at = Request::new(scene.clone(), answered(503)).ended_at.plus(ASKED);
        let expected = Cooldown::new(ends_at, ends_at.plus(ASKED / 2));
        assert_eq!(cooldown(scene.clone(), asking(503, ASKED)), Some(expected), "the last attempt's counts too");
        assert_eq!(cooldown(scene, answered(503)), None);
    }
}

#[test]
fn a_report_names_its_bucket_and_what_may_be_dropped() {
    let request =
        Request { ended_at: crate::samples::at(1_000_009_999), ..Request::new(Scene::new(), answered(500)) };
    let report = request.finished().report();
    assert_eq!((report.bucket.as_ms(), report.keep_since.as_ms()), (1_000_000_000, 999_940_000));
    assert_eq!(report.endpoint, request.scene.dispatch.webhook.endpoint);
}
