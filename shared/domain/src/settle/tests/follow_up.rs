//! The change of an endpoint's state that follows its writes: trips, probes, cooldowns.

use super::*;
use crate::circuit::Circuit;
use crate::samples::later;
use crate::tally::Bucket;

const ENDED: Timestamp = crate::samples::at(NOW.as_ms() + 100);
const CIRCUIT: Probes = Probes { circuit: true, cooldown: false };
const COOLDOWN: Probes = Probes { circuit: false, cooldown: true };
const BOTH: Probes = Probes { circuit: true, cooldown: true };
const ASKED: Duration = Duration::from_mins(1);

fn state(circuit: Circuit, cooldown: Option<Cooldown>) -> EndpointState {
    EndpointState { version: 8, circuit, cooldown, buckets: Vec::new() }
}

fn half(successes: u32) -> Circuit {
    Circuit::HalfOpen { successes, probe_until: Some(later(10)) }
}

/// What follows, as circuit and cooldown.
fn change(probes: Probes, outcome: Outcome, state: &EndpointState) -> Option<(Circuit, Option<Cooldown>)> {
    let request = Request::new(Scene::new(), outcome).probing(probes);
    assert_eq!(request.ended_at, ENDED);
    let change = follow_up(&request.finished(), state)?;
    assert_eq!((change.version, &change.endpoint), (8, &request.scene.dispatch.webhook.endpoint));
    Some((change.circuit, change.cooldown))
}

#[test]
fn a_closed_circuit_opens_at_the_threshold_by_whichever_request_finds_it_reached() {
    let counted = |failures, successes| {
        let tally = Tally { failures, successes, slow: 0 };
        EndpointState { buckets: vec![Bucket { start: NOW, tally }], ..state(Circuit::default(), None) }
    };
    let opened = Some((Circuit::Open { since: ENDED }, None));
    assert_eq!(change(Probes::default(), answered(500), &counted(4, 0)), None);
    assert_eq!(change(Probes::default(), answered(500), &counted(5, 0)), opened);
    assert_eq!(change(Probes::default(), answered(500), &counted(5, 5)), None);
    assert_eq!(
        change(Probes::default(), answered(200), &counted(5, 4)),
        opened,
        "the request that reached the threshold died before it opened the circuit"
    );
    assert_eq!(change(COOLDOWN, answered(500), &counted(5, 0)), opened, "a cooldown's probe counts like any other");
}

#[test]
fn cb_1_only_the_probe_moves_a_circuit_that_is_not_closed() {
    for circuit in [Circuit::Open { since: NOW }, half(1), Circuit::HalfOpen { successes: 1, probe_until: None }] {
        for outcome in [answered(200), answered(404), answered(500), asking(503, ASKED)] {
            assert_eq!(change(Probes::default(), outcome, &state(circuit, None)), None, "{circuit:?}");
        }
    }
}

#[test]
fn a_circuits_probe_closes_it_step_by_step_or_opens_it_again() {
    let closed = Circuit::Closed { since: ENDED };
    let free = |successes| Circuit::HalfOpen { successes, probe_until: None };
    for (outcome, successes, expected) in [
        (answered(200), 0, free(1)),
        (answered(200), 1, closed),
        (answered(404), 0, free(1)),
        (answered(410), 1, closed),
        (answered(500), 1, Circuit::Open { since: ENDED }),
        (failed(FailureKind::Connect), 0, Circuit::Open { since: ENDED }),
        (asking(503, ASKED), 1, free(1)),
        (failed(FailureKind::Timeout), 1, free(1)),
        (failed(FailureKind::Unsendable), 0, free(0)),
    ] {
        let found = change(CIRCUIT, outcome.clone(), &state(half(successes), None));
        assert_eq!(found, Some((expected, None)), "{outcome:?}");
    }
}

#[test]
fn a_circuits_probe_that_comes_late_changes_nothing() {
    for circuit in [Circuit::default(), Circuit::Open { since: NOW }] {
        for outcome in [answered(200), answered(500)] {
            assert_eq!(change(CIRCUIT, outcome, &state(circuit, None)), None);
        }
    }
}

#[test]
fn a_cooldowns_probe_ends_it_or_makes_room_for_the_next_probe() {
    let closed = Circuit::default();
    let cooldown = Cooldown::new(NOW, later(90));
    let probed = state(closed, Some(Cooldown { probe_until: Some(later(10)), ..cooldown }));
    for (outcome, left) in [
        (answered(200), None),
        (answered(404), None),
        (answered(500), Some(cooldown)),
        (failed(FailureKind::Timeout), Some(cooldown)),
        (failed(FailureKind::Unsendable), Some(cooldown)),
    ] {
        assert_eq!(change(COOLDOWN, outcome.clone(), &probed), Some((closed, left)), "{outcome:?}");
        assert_eq!(change(Probes::default(), outcome, &probed), None, "a request that is no probe ends no cooldown");
    }
    assert_eq!(change(COOLDOWN, answered(200), &state(closed, None)), None, "the cooldown had ended before");
}

#[test]
fn rt_1_a_cooldown_that_was_asked_for_meanwhile_stays() {
    let new = Cooldown::new(ENDED.plus(ASKED), ENDED.plus(ASKED * 2));
    for outcome in [answered(200), answered(500), asking(429, ASKED)] {
        assert_eq!(change(COOLDOWN, outcome, &state(Circuit::default(), Some(new))), None);
    }
    let at_once = Cooldown::new(ENDED, later(2));
    assert_eq!(change(COOLDOWN, asking(429, Duration::ZERO), &state(Circuit::default(), Some(at_once))), None);
}

#[test]
fn one_request_may_be_both_probes() {
    let cooldown = Cooldown::new(NOW, later(90));
    let probed = state(half(1), Some(Cooldown { probe_until: Some(later(10)), ..cooldown }));
    let changed = change(BOTH, answered(200), &probed);
    assert_eq!(changed, Some((Circuit::Closed { since: ENDED }, None)));
    assert_eq!(change(BOTH, answered(500), &probed), Some((Circuit::Open { since: ENDED }, Some(cooldown))));
}

#[test]
fn cb_1_a_probe_that_outlasted_its_lease_leaves_the_lease_of_the_next_probe() {
    let anothers = Circuit::HalfOpen { successes: 0, probe_until: Some(later(40)) };
    let cooldown = Cooldown { probe_until: Some(later(40)), ..Cooldown::new(later(0), later(90)) };
    for outcome in [answered(200), answered(500)] {
        assert_eq!(change(BOTH, outcome, &state(anothers, Some(cooldown))), None);
    }
}

#[test]
fn a_cooldown_whose_window_has_ended_is_forgotten() {
    let over = Cooldown::new(Timestamp::EPOCH, NOW);
    let confirmed = Cooldown { confirmed: true, ..Cooldown::new(NOW, later(90)) };
    for cooldown in [over, confirmed] {
        let forgotten = Some((Circuit::default(), None));
        assert_eq!(change(Probes::default(), answered(200), &state(Circuit::default(), Some(cooldown))), forgotten);
    }
}

#[test]
fn tn_1_a_status_that_one_webhook_wants_retried_says_nothing_about_the_endpoint() {
    let mut scene = Scene::new();
    let mut webhook = (*scene.dispatch.webhook).clone();
    webhook.retry_on_status = vec![404];
    scene.dispatch.webhook = std::sync::Arc::new(webhook);
    let request = Request::new(scene, asking(404, ASKED));
    let report = request.finished().report();
    assert_eq!((report.tally.failures, report.cooldown), (0, None));
    let Disposition::Retried(at) = request.disposition() else { panic!("its own wish is granted") };
    assert!(at >= ENDED.plus(ASKED), "RT-1: and its Retry-After heeded");
}
