//! Scenario `fleet`: many independent clients behind a rate limiter, and what they do when its cooldown ends.
//!
//! The same fleet, limiter and incident meet each policy; [`simulation`] says what happens, [`policies`] what clients do,
//! [`load`] which incident makes the storm, [`targets`] what must hold.

use std::time::Duration;

use crate::cli::StormOptions;
use crate::progress;
use crate::report::{Report, fine, whole};
use crate::storm::fleet::policies::ClientPolicy;
use crate::storm::fleet::simulation::{Fleet, Run, Span, Surge};

mod drawing;
mod load;
mod policies;
mod simulation;
mod targets;
#[cfg(test)]
mod tests;

/// What the limiter asks of whom it refuses.
const RETRY_AFTER: Duration = Duration::from_mins(1);
/// How far apart a client's requests are, on average.
const INTERVAL: Duration = Duration::from_secs(1);
/// The bin: as wide as the window in which ±5 % of jitter brings everything back.
const BIN: Duration = Duration::from_secs(6);
/// What is simulated. Chance is measured in the minutes before the incident; three times `Retry-After` show second waves;
/// what still waits after an hour counts as never drained.
const SPAN: Span =
    Span { before: Duration::from_mins(2), least: Duration::from_mins(3), most: Duration::from_hours(1) };

const HEADER: [&str; 8] =
    ["policy", "peak, % in 6 s", "at, s", "peak, % in 1 s", "refused again", "waits, s", "drain, s", "x lockstep"];

/// What each policy made of the same incident.
pub(crate) struct Outcome {
    fleet: Fleet,
    /// What the clients sent during the incident, in times their steady rate.
    demand: f64,
    /// Lockstep, to which the others are compared, is the first.
    results: Vec<PolicyResult>,
}

/// What one policy made of it.
pub(crate) struct PolicyResult {
    policy: ClientPolicy,
    run: Run,
    /// In the fullest bin.
    surge: Surge,
    /// In the fullest second, in percent.
    sharpest: f64,
}

/// Runs the scenario, writes its pages, and reports.
///
/// # Errors
/// When a page cannot be written, or no incident makes the storm.
pub(crate) fn run(options: &StormOptions) -> anyhow::Result<Report> {
    let fleet = Fleet::new(options.clients, options.headroom / 100.0, options.incident)?;
    let policies = [
        ClientPolicy::lockstep()?,
        ClientPolicy::exponential()?,
        ClientPolicy::window(),
        ClientPolicy::probed(options.incident),
        ClientPolicy::cohorts(options.cohorts)?,
    ];
    let outcome = simulate(fleet, &policies, (SPAN, options.seed, options.demand))?;
    let report = outcome.report(options.seed);
    drawing::write(&outcome, &report, &options.out)?;
    Ok(report)
}

/// Lets each policy meet the same incident.
///
/// # Errors
/// When no incident makes the storm.
fn simulate(
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
    fn report(&self, seed: u64) -> Report {
        let mut report = Report::new("storm", self.about(seed), &HEADER);
        report.figure("demand during the incident, times the steady rate", self.demand);
        report.figure("steady rate, requests/s", self.fleet.steady);
        report.figure("limit, requests/s", self.fleet.limit);
        report.figure("chance in a bin, %", self.chance());
        if let Some(first) = self.results.first() {
            report.figure("refused by the incident", f64::from(first.run.refused));
        }
        for result in &self.results {
            self.describe(result, &mut report);
        }
        report.aims = targets::targets(self);
        report
    }

    fn about(&self, seed: u64) -> String {
        let refused = self.results.first().map_or(0.0, |first| f64::from(first.run.refused));
        format!(
            "fleet, seed {seed}: {} requests/s, limit {:.0} % above; for {} demand is {:.2} times the steady rate, and {refused} \
             requests ({:.2} s of steady traffic) are refused with Retry-After: 60. Peaks are the fullest 6 s (1 s) after \
             the incident, above the steady rate.",
            whole(self.fleet.steady),
            (self.fleet.limit / self.fleet.steady - 1.0) * 100.0,
            humantime::format_duration(self.fleet.incident),
            self.demand,
            refused / self.fleet.steady,
        )
    }

    fn describe(&self, result: &PolicyResult, report: &mut Report) {
        let name = result.policy.name;
        let PolicyResult { run, surge, sharpest, .. } = result;
        let drain = run.drain.map(|drain| drain.as_secs_f64());
        report.figure(format!("peak over the steady rate in 6 s, %, {name}"), surge.percent);
        report.figure(format!("peak over the steady rate in 1 s, %, {name}"), *sharpest);
        report.figure(format!("refused after the cooldown, {name}"), f64::from(run.refused_after));
        report.figure(format!("shortest wait, s, {name}"), run.waits.0.as_secs_f64());
        report.figure(format!("longest wait, s, {name}"), run.waits.1.as_secs_f64());
        let ratio = self.drain_ratio(result);
        if let (Some(drain), Some(ratio)) = (drain, ratio) {
            report.figure(format!("drain, s, {name}"), drain);
            report.figure(format!("drain, times lockstep's, {name}"), ratio);
        }
        report.row(vec![
            name.to_owned(),
            fine(surge.percent),
            whole(surge.at),
            fine(*sharpest),
            run.refused_after.to_string(),
            format!("{:.0} to {:.0}", run.waits.0.as_secs_f64(), run.waits.1.as_secs_f64()),
            drain.map_or_else(|| "never".to_owned(), |drain| format!("{drain:.1}")),
            ratio.map(fine).unwrap_or_default(),
        ]);
    }

    /// How much longer than lockstep's a drain is; `None` when one of the two never ended.
    fn drain_ratio(&self, result: &PolicyResult) -> Option<f64> {
        let lockstep = self.results.first()?.run.drain?;
        Some(result.run.drain?.as_secs_f64() / lockstep.as_secs_f64())
    }

    /// How far chance moves a bin, in percent of the steady rate: three standard deviations of the bins before the incident,
    /// and of so many retries as the gentlest policy's fullest bin holds, as if each came by itself.
    fn chance(&self) -> f64 {
        let usual = self.fleet.steady * BIN.as_secs_f64();
        let Some(first) = self.results.first() else { return 0.0 };
        let bins = first.run.series.bins(domain::Timestamp::EPOCH, first.run.began, BIN);
        let spread: f64 = bins.iter().map(|bin| (f64::from(*bin) - usual).powi(2)).sum();
        let count = f64::from(u32::try_from(bins.len()).unwrap_or(u32::MAX)).max(1.0);
        let retries = self.results.iter().map(|result| result.surge.retries).fold(f64::INFINITY, f64::min);
        3.0 * (spread / count + retries).sqrt() / usual * 100.0
    }
}
