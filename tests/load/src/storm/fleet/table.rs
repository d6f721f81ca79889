//! The table and the figures of a fleet.

use crate::report::{Report, fine, whole};
use crate::storm::fleet::outcome::{Outcome, PolicyResult};
use crate::storm::fleet::targets::targets;

const HEADER: [&str; 8] =
    ["policy", "peak, % in 6 s", "at, s", "peak, % in 1 s", "refused again", "waits, s", "drain, s", "x lockstep"];

impl Outcome {
    /// The table, every figure, and the targets.
    pub(crate) fn report(&self, seed: u64) -> Report {
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
        report.aims = targets(self);
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
}
