//! `deliver`: howk's delivery path and the same HTTP client in a bare loop, in turns.
//!
//! The path begins at the fast lane's topic and ends with the commit: read, open, decide, sign, send, settle, close.
//! Enqueueing happens before the clock starts.

use anyhow::ensure;

use crate::child::Receiver;
use crate::cli::{DeliverOptions, Note, Sides, Signing};
use crate::deliver::bare::Bare;
use crate::deliver::lane::FastLane;
use crate::measure::{Sample, median};
use crate::progress;
use crate::report::{Aim, Bound, Report, fine, whole};

mod bare;
mod lane;

/// What howk should reach of the bare loop.
const RATIO_MIN: f64 = 0.8;
const SECRET: &str = "whsec_aG93ay1sb2FkLW1lYXN1cmVzLXdpdGgtdGhpcw==";
const HEADER: [&str; 6] = ["side", "per CPU second", "CPU us each", "per second", "range", "ratio"];

/// Runs the measurement.
///
/// # Errors
/// When anything is not delivered.
pub(crate) async fn run(options: &DeliverOptions) -> anyhow::Result<Report> {
    howk_dev::telemetry::start_metrics()?;
    let about = format!(
        "{} webhooks of {} bytes, {} in flight, {} endpoints, {} tenants, {} rounds of each side in turns, medians",
        options.count,
        options.shape.payload_bytes,
        options.concurrency,
        options.endpoints,
        options.shape.tenants,
        options.rounds
    );
    let mut report = Report::new("deliver", about, &HEADER);
    let secrets: &[Option<&str>] = match options.signing {
        Signing::Off => &[None],
        Signing::On => &[Some(SECRET)],
        Signing::Both => &[None, Some(SECRET)],
    };
    for secret in secrets {
        let rounds = measure(options, *secret).await?;
        tell(&mut report, if secret.is_some() { "signed" } else { "unsigned" }, &rounds);
    }
    Ok(report)
}

/// The rounds of both sides; a side that does not run has none.
#[derive(Debug, Default)]
struct Rounds {
    howk: Vec<Sample>,
    bare: Vec<Sample>,
}

async fn measure(options: &DeliverOptions, secret: Option<&str>) -> anyhow::Result<Rounds> {
    let receiver = Receiver::start(Note::Nothing, 0).await?;
    let urls: Vec<String> =
        (0..options.endpoints).map(|n| format!("http://127.0.0.1:{}/hook/{n}", receiver.port)).collect();
    let mut lane = FastLane::new(options, &urls, secret).await?;
    let bare = Bare::new(options, &urls, secret)?;
    let mut rounds = Rounds::default();
    let mut delivered = 0;
    let bar = progress::bar(u64::from(options.rounds), "rounds");
    // The round before the first warms up connections, caches and the allocator.
    for round in 0..=options.rounds {
        if options.sides != Sides::Bare {
            let sample = lane.round(options.count).await?;
            delivered = check(&receiver, delivered, options.count).await?;
            rounds.howk.extend((round > 0).then_some(sample));
        }
        if options.sides != Sides::Howk {
            let sample = bare.round(options.count).await?;
            delivered = check(&receiver, delivered, options.count).await?;
            rounds.bare.extend((round > 0).then_some(sample));
        }
        bar.set_position(u64::from(round));
    }
    bar.finish_and_clear();
    receiver.end().await?;
    Ok(rounds)
}

/// Refuses a round of which the receiver did not get every webhook exactly once.
async fn check(receiver: &Receiver, before: u64, count: u32) -> anyhow::Result<u64> {
    let now = receiver.count().await?;
    ensure!(now == before + u64::from(count), "{count} webhooks were sent, {} came", now - before);
    Ok(now)
}

fn tell(report: &mut Report, signing: &str, rounds: &Rounds) {
    let ratios: Vec<f64> = rounds
        .howk
        .iter()
        .zip(&rounds.bare)
        .map(|(howk, bare)| howk.per_cpu_second() / bare.per_cpu_second())
        .collect();
    let ratio = (!ratios.is_empty()).then(|| median(ratios));
    row(report, &format!("howk, {signing}"), (&rounds.howk, ratio));
    row(report, &format!("bare loop, {signing}"), (&rounds.bare, None));
    if let Some(ratio) = ratio {
        report.figure(format!("ratio, {signing}"), ratio);
        let name = format!("deliveries per CPU second to the bare loop's, {signing}");
        report.aims.push(Aim::new(name, ratio, Bound::AtLeast(RATIO_MIN)));
    }
}

fn row(report: &mut Report, side: &str, (samples, ratio): (&[Sample], Option<f64>)) {
    if samples.is_empty() {
        return;
    }
    let rates = || samples.iter().map(Sample::per_cpu_second);
    let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    let cpu_us = median(samples.iter().map(Sample::cpu_us_each));
    let per_second = median(samples.iter().map(Sample::per_second));
    report.figure(format!("per CPU second, {side}"), median(rates()));
    report.figure(format!("CPU us each, {side}"), cpu_us);
    report.figure(format!("per second, {side}"), per_second);
    report.row(vec![
        side.to_owned(),
        whole(median(rates())),
        fine(cpu_us),
        whole(per_second),
        format!("{least:.0} to {most:.0}"),
        ratio.map(fine).unwrap_or_default(),
    ]);
}
