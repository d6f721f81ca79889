//! What must hold of a fleet: the seed's figures, and that no release is outside of its window (RT-1).

use std::time::Duration;

use crate::report::{Aim, Bound};
use crate::storm::fleet::load::SURGE_SOUGHT;
use crate::storm::fleet::outcome::{Outcome, PolicyResult};
use crate::storm::fleet::policies::Promise;
use crate::storm::fleet::terms::{BIN, RETRY_AFTER};

/// How near lockstep's surge must be to the one that is sought, in percent of the steady rate.
const SURGE_TOLERANCE: f64 = 2.0;
/// The surge that a release window must stay under, in percent.
pub(crate) const SURGE_MAX: f64 = 3.0;
/// How much longer than lockstep's its drain may take.
const DRAIN_MAX: f64 = 1.12;
/// What chance may move a bin by, in percent.
const CHANCE_MAX: f64 = 0.5;

/// The targets, each with what was found.
pub(crate) fn targets(outcome: &Outcome) -> Vec<Aim> {
    let mut aims =
        vec![Aim::new("chance in a bin of 6 s, % of the steady rate", outcome.chance(), Bound::AtMost(CHANCE_MAX))];
    for result in &outcome.results {
        aims.extend(of_policy(outcome, result));
    }
    aims
}

fn of_policy(outcome: &Outcome, result: &PolicyResult) -> Vec<Aim> {
    let surge = |bound| {
        let what = format!("{}: peak over the steady rate in {} s, %", result.policy.name, BIN.as_secs());
        Aim::new(what, result.surge.percent, bound)
    };
    match result.policy.promise {
        Promise::Storm => {
            vec![surge(Bound::Between(SURGE_SOUGHT - SURGE_TOLERANCE, SURGE_SOUGHT + SURGE_TOLERANCE))]
        }
        Promise::Nothing => Vec::new(),
        Promise::Wait { longest } => waits(result, longest).into(),
        Promise::Calm { longest } => {
            let drain = outcome.drain_ratio(result).unwrap_or(f64::INFINITY);
            let drain =
                Aim::new(format!("{}: drain, times lockstep's", result.policy.name), drain, Bound::AtMost(DRAIN_MAX));
            [surge(Bound::AtMost(SURGE_MAX)), drain].into_iter().chain(waits(result, longest)).collect()
        }
    }
}

/// RT-1: no release is before `Retry-After`, none is beyond the window.
fn waits(result: &PolicyResult, longest: Duration) -> [Aim; 2] {
    let name = result.policy.name;
    let (least, most) = result.run.waits;
    [
        Aim::new(format!("{name}: shortest wait, s"), least.as_secs_f64(), Bound::AtLeast(RETRY_AFTER.as_secs_f64())),
        Aim::new(format!("{name}: longest wait, s"), most.as_secs_f64(), Bound::AtMost(longest.as_secs_f64())),
    ]
}
