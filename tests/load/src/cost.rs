//! `howk-load cost`: what a deployment costs a month, by part, and per million webhooks.
//!
//! Traffic ([`traffic`]) times prices ([`mod@bill`]). Prices stand in `infra/prices.json`, what was measured or is still
//! estimated in `infra/measured.json` with how it was found, and the deployment in a `howk.yaml` with the defaults of its
//! schema ([`deployment`]). Deliberately absent: free tiers, discounts, traffic between zones.

mod bill;
mod deployment;
mod inputs;
mod limits;
mod traffic;

use anyhow::Context;

use crate::cli::CostOptions;
use crate::cost::bill::{Line, bill};
use crate::cost::deployment::Deployment;
use crate::cost::inputs::{Measured, Prices, Topics, read};
use crate::cost::limits::limits;
use crate::cost::traffic::{Load, Traffic};
use crate::report::{Aim, Report, fine};

/// Webhooks of one unit of variable cost.
const MILLION: f64 = 1_000_000.0;

/// Multiplies.
///
/// # Errors
/// When a file cannot be read, or is not what it should be.
pub(crate) fn run(options: &CostOptions) -> anyhow::Result<Report> {
    let prices: Prices = read(&options.infra.join("prices.json"))?;
    let measured: Measured = read(&options.infra.join("measured.json"))?;
    let topics: Topics = read(&options.infra.join("topics.json"))?;
    let deployment = Deployment::load(&options.settings, &options.infra.join("howk.schema.json"))?;
    let load = Load {
        rate: options.rate,
        latency: options.latency.as_secs_f64(),
        attempts: options.attempts,
        per_post: f64::from(options.per_post),
        payload_bytes: f64::from(options.payload_bytes),
        month_seconds: prices.hours_month * 3600.0,
    };
    let traffic = Traffic::of(&load, &deployment, (&measured, &topics));
    let lines = bill(&deployment, &traffic, (&prices, &topics)).context("no price for this deployment")?;
    Ok(report(options, &traffic, &lines, limits(&deployment, &traffic, &prices)))
}

fn report(options: &CostOptions, traffic: &Traffic, lines: &[Line], aims: Vec<Aim>) -> Report {
    let millions = traffic.webhooks / MILLION;
    let about = format!(
        "{} at {} webhooks/s ({millions:.1} million a month), receivers answer in {}, {} request(s) each, {} a POST",
        options.settings.display(),
        options.rate,
        humantime::format_duration(options.latency),
        options.attempts,
        options.per_post,
    );
    let mut report = Report::new("cost", about, &["part", "$ a month", "fixed", "by use", "$ a million"]);
    let (fixed, used) = lines.iter().fold((0.0, 0.0), |(fixed, used), line| (fixed + line.fixed, used + line.used));
    let total = Line { part: "sum", fixed, used };
    for Line { part, fixed, used } in lines.iter().chain([&total]) {
        let cells = [fixed + used, *fixed, *used, used / millions].map(fine);
        report.row(std::iter::once((*part).to_owned()).chain(cells).collect());
        report.figure(format!("{part}_usd_month"), fixed + used);
    }
    report.figure("usd_per_million", (fixed + used) / millions);
    report.figure("usd_per_million_by_use", used / millions);
    report.aims = aims;
    report
}
