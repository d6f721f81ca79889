//! `howk-load storm`: retry storms in a seeded simulation, on a virtual clock.
//!
//! Every time at which something is sent again comes out of the decisions of `domain` that howk itself runs. Shared by all
//! scenarios: the virtual clock ([`calendar`]), seeded draws ([`draws`]), a rate limiter ([`limiter`]), what the receiver sees
//! ([`series`]), plots ([`chart`]) and the page around them ([`page`]). Deliberately absent: real time, network, threads.

use crate::cli::{Scenario, StormOptions};
use crate::report::Report;

mod calendar;
mod chart;
mod draws;
mod fleet;
mod limiter;
mod page;
mod series;

/// Runs a scenario.
///
/// # Errors
/// When its pages cannot be written, or the scenario makes no sense.
pub(crate) fn run(options: &StormOptions) -> anyhow::Result<Report> {
    match options.scenario {
        Scenario::Fleet => fleet::run(options),
    }
}
