//! Which load makes lockstep's storm: the demand during the incident is searched, not assumed.

use std::time::Duration;

use anyhow::ensure;

use crate::storm::fleet::policies::ClientPolicy;
use crate::storm::fleet::simulation::{Fleet, Span};

/// The surge that the reference telemetry names, in percent.
pub(crate) const SURGE_SOUGHT: f64 = 14.0;
/// The search ends when the surge is this near, in percent.
const NEAR_ENOUGH: f64 = 0.05;
/// No incident is searched beyond so many times the steady rate.
const DEMAND_MAX: f64 = 256.0;
/// Halvings after which the bounds are nearer than chance.
const HALVINGS_MAX: u32 = 16;
/// The search draws its own numbers: what it finds must hold for the seed's as well.
const SEARCH_STREAM: u64 = 0xca11_b7a7e;

/// The demand, in times the steady rate, at which lockstep's surge is the one that is sought.
///
/// # Errors
/// When none is, because the incident is too short for it.
pub(crate) fn demand_sought(fleet: &Fleet, (bin, seed): (Duration, u64), step: impl Fn()) -> anyhow::Result<f64> {
    let lockstep = ClientPolicy::lockstep()?;
    let surge = |demand: f64| {
        step();
        let run = fleet.run(&lockstep, demand, (Span::of_first_wave(), seed ^ SEARCH_STREAM));
        run.surge(fleet.steady, bin).percent
    };
    let (mut low, mut high) = (1.0, 2.0);
    while surge(high) < SURGE_SOUGHT {
        ensure!(high < DEMAND_MAX, "no incident of up to {DEMAND_MAX} times the steady rate gives {SURGE_SOUGHT} %");
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..HALVINGS_MAX {
        let middle = f64::midpoint(low, high);
        let found = surge(middle);
        if (found - SURGE_SOUGHT).abs() <= NEAR_ENOUGH {
            return Ok(middle);
        }
        if found < SURGE_SOUGHT {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(f64::midpoint(low, high))
}
