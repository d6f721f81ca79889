//! The same fleet, limiter and incident for each policy, and what came of it.

use std::time::Duration;

use domain::Timestamp;

use crate::progress;
use crate::storm::fleet::load;
use crate::storm::fleet::policies::ClientPolicy;
use crate::storm::fleet::simulation::{Fleet, Run, Span, Surge};
use crate::storm::fleet::terms::BIN;

/// What each policy made of the same incident.
pub(crate) struct Outcome {
    pub(crate) fleet: Fleet,
    /// What the clients sent during the incident, in times their steady rate.
    pub(crate) demand: f64,
    /// Lockstep, to which the others are compared, is the first.
    pub(crate) results: Vec<PolicyResult>,
}

/// What one policy made of it.
pub(crate) struct PolicyResult {
    pub(crate) policy: ClientPolicy,
    pub(crate) run: Run,
    /// In the fullest bin.
    pub(crate) surge: Surge,
    /// In the fullest second, in percent.
    pub(crate) sharpest: f64,
}

/// Lets each policy meet the same incident.
///
/// # Errors
/// When no incident makes the storm.
pub(crate) fn simulate(
    fleet: Fleet,
    policies: &[ClientPolicy],
    (span, seed, demand): (Span, u64, Option<f64>),
) -> anyhow::Result<Outcome> {
    let bar = progress::bar(u64::try_from(policies.len())?, "simulated runs");
    let demand = match demand {
        Some(demand) => demand,
        None => load::demand_sought(&fleet, (BIN, seed), || {
            bar.inc_length(1);
            bar.inc(1);
        })?,
    };
    let results = policies.iter().map(|policy| {
        let run = fleet.run(policy, demand, (span, seed));
        bar.inc(1);
        let surge = run.surge(fleet.steady, BIN);
        let sharpest = run.surge(fleet.steady, Duration::from_secs(1)).percent;
        PolicyResult { policy: *policy, run, surge, sharpest }
    });
    let results = results.collect();
    bar.finish_and_clear();
    Ok(Outcome { fleet, demand, results })
}

impl Outcome {
    /// How much longer than lockstep's a drain is; `None` when one of the two never ended.
    pub(crate) fn drain_ratio(&self, result: &PolicyResult) -> Option<f64> {
        let lockstep = self.results.first()?.run.drain?;
        Some(result.run.drain?.as_secs_f64() / lockstep.as_secs_f64())
    }

    /// How far chance moves a bin, in percent of the steady rate: three standard deviations of the bins before the incident,
    /// and of so many retries as the gentlest policy's fullest bin holds, as if each came by itself.
    pub(crate) fn chance(&self) -> f64 {
        let usual = self.fleet.steady * BIN.as_secs_f64();
        let Some(first) = self.results.first() else { return 0.0 };
        let bins = first.run.series.bins(Timestamp::EPOCH, first.run.began, BIN);
        let spread: f64 = bins.iter().map(|bin| (f64::from(*bin) - usual).powi(2)).sum();
        let count = f64::from(u32::try_from(bins.len()).unwrap_or(u32::MAX)).max(1.0);
        let retries = self.results.iter().map(|result| result.surge.retries).fold(f64::INFINITY, f64::min);
        3.0 * (spread / count + retries).sqrt() / usual * 100.0
    }
}
