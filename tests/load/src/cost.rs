//! `howk-load cost`: what a deployment costs a month, by part, and per million webhooks.
//!
//! Traffic ([`traffic`]) times prices ([`mod@bill`]). Prices are in `infra/prices.json`, measured and estimated figures
//! in `infra/measured.json` with how they were found, and the deployment in a `howk.yaml` with the defaults of its
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

/// Computes the costs.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::time::Duration;

    /// The sizes of the README's table, each with its webhooks a second.
    const SIZES: [(&str, f64); 3] =
        [("examples/small.yaml", 5.0), ("howk.yaml", 50.0), ("examples/medium.yaml", 200.0)];

    fn infra() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../infra")
    }

    fn cost((file, rate): (&str, f64), per_post: u32) -> Report {
        run(&CostOptions {
            settings: infra().join(file),
            infra: infra(),
            rate,
            latency: Duration::from_millis(100),
            attempts: 1.0,
            per_post,
            payload_bytes: 1_000,
        })
        .unwrap()
    }

    /// Whole dollars, with a comma before the last three digits.
    fn dollars(value: f64) -> String {
        let text = format!("{value:.0}");
        match text.split_at_checked(text.len().saturating_sub(3)) {
            Some((thousands, rest)) if !thousands.is_empty() => format!("{thousands},{rest}"),
            Some(_) | None => text,
        }
    }

    fn row(name: &str, cells: &[String; 3]) -> String {
        format!("| {name} | {} |", cells.join(" | "))
    }

    #[test]
    fn the_table_of_the_readme_has_the_figures_of_the_command() {
        let single = SIZES.map(|size| cost(size, 1).figures);
        let many = SIZES.map(|size| cost(size, 100).figures);
        let prices: Prices = read(&infra().join("prices.json")).unwrap();
        let millions = SIZES.map(|(_, rate)| rate * prices.hours_month * 3600.0 / MILLION);
        let used = [0, 1, 2].map(|size: usize| single[size]["usd_per_million_by_use"] * millions[size]);
        let sum = [0, 1, 2].map(|size: usize| single[size]["sum_usd_month"]);
        let rows = [
            row("webhooks a month", &millions.map(|millions| format!("{millions:.0} million"))),
            row("fixed, a month", &[0, 1, 2].map(|size| dollars(sum[size] - used[size]))),
            row("by use, one webhook a POST, a month", &used.map(dollars)),
            row("a month", &sum.map(dollars)),
            row("by use, a million", &single.map(|figures| fine(figures["usd_per_million_by_use"]))),
            row(
                "by use, a million, 100 webhooks a POST",
                &many.map(|figures| fine(figures["usd_per_million_by_use"])),
            ),
        ];
        let readme = std::fs::read_to_string(infra().join("README.md")).unwrap();
        let missing: Vec<_> = rows.iter().filter(|row| !readme.contains(*row)).collect();
        assert!(missing.is_empty(), "infra/README.md lacks\n{}", rows.join("\n"));
    }
}
