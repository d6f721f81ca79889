//! Scenario `fleet`: many independent clients behind a rate limiter, and what they do when its cooldown ends.
//!
//! The same fleet, limiter and incident meet each policy; [`simulation`] says what happens, [`policies`] what clients do,
//! [`load`] which incident makes the storm, [`outcome`] compares, [`targets`] says what must hold.

use std::time::Duration;

use crate::cli::StormOptions;
use crate::report::Report;
use crate::storm::fleet::outcome::simulate;
use crate::storm::fleet::policies::ClientPolicy;
use crate::storm::fleet::simulation::{Fleet, Span};

mod drawing;
mod load;
mod outcome;
mod policies;
mod simulation;
mod table;
mod targets;
mod terms;
#[cfg(test)]
mod tests;

/// What is simulated. Chance is measured in the minutes before the incident; three times `Retry-After` show second waves;
/// what still waits after an hour counts as never drained.
const SPAN: Span =
    Span { before: Duration::from_mins(2), least: Duration::from_mins(3), most: Duration::from_hours(1) };

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
