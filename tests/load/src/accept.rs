//! `accept`: howk's API and a bare handler that only parses the body, in turns, single and in batches.
//!
//! Nothing is delivered meanwhile: what is accepted is read from its topic and dropped, in a back end that is new in
//! every round. howk's side checks, draws ids, publishes to the in-memory log, and writes a status; the bare side
//! answers once serde is done.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use domain::Topic;
use howk_dev::telemetry::RenderMetrics;

use crate::accept::bare::router as bare_router;
use crate::accept::served::Served;
use crate::child::Generator;
use crate::cli::{AcceptOptions, GeneratorOptions};
use crate::generator::Generated;
use crate::howk;
use crate::measure::{Meter, Percentiles, Sample, median};
use crate::progress;
use crate::report::{Report, fine, whole};

mod bare;
mod served;

/// Webhooks of a batch: the most that a request may carry.
const BATCH: u32 = 100;
const HEADER: [&str; 7] =
    ["side", "per CPU second", "CPU us each", "per second", "p50 ms", "p99 ms", "times the CPU"];

/// Runs the measurement.
///
/// # Errors
/// When anything is not accepted.
pub(crate) async fn run(options: &AcceptOptions) -> anyhow::Result<Report> {
    let metrics = howk_dev::telemetry::start_metrics()?;
    let about = format!(
        "{} webhooks of {} bytes, {} connections, {} tenants, {} rounds of each side in turns, medians",
        options.count, options.shape.payload_bytes, options.concurrency, options.shape.tenants, options.rounds
    );
    let mut report = Report::new("accept", about, &HEADER);
    for (batch, how) in [(1, "single"), (BATCH, "batches of 100")] {
        let rounds = measure(options, batch, &metrics).await?;
        tell(&mut report, how, &rounds);
    }
    Ok(report)
}

type Round = (Sample, Percentiles);

#[derive(Debug, Default)]
struct Rounds {
    howk: Vec<Round>,
    bare: Vec<Round>,
}

async fn measure(options: &AcceptOptions, batch: u32, metrics: &RenderMetrics) -> anyhow::Result<Rounds> {
    let mut rounds = Rounds::default();
    let bar = progress::bar(u64::from(options.rounds), "rounds");
    // The round before the first warms up caches and the allocator.
    for round in 0..=options.rounds {
        let howk = howk_round(options, batch, Arc::clone(metrics)).await?;
        let bare = against(options, batch, Served::start(bare_router()).await?).await?;
        if round > 0 {
            rounds.howk.push(howk);
            rounds.bare.push(bare);
        }
        bar.set_position(u64::from(round));
    }
    bar.finish_and_clear();
    Ok(rounds)
}

async fn howk_round(options: &AcceptOptions, batch: u32, metrics: RenderMetrics) -> anyhow::Result<Round> {
    let settings = howk::settings(options.concurrency);
    let system = howk::system(&settings, &howk::limits()).await?;
    let ready = Arc::new(AtomicBool::new(true));
    let mut served = Served::start(howk_dev::api::router(&system, &settings, metrics, ready)?).await?;
    served.drain((system.backend.join)(Topic::Pending)?);
    against(options, batch, served).await
}

/// Lets a generator loose on a server of this process.
async fn against(options: &AcceptOptions, batch: u32, served: Served) -> anyhow::Result<Round> {
    let count = options.count / batch * batch;
    let mut generator = Generator::start(&GeneratorOptions {
        port: served.port,
        to: 9,
        count,
        batch,
        concurrency: options.concurrency,
        rate: 0,
        shape: options.shape.clone(),
    })
    .await?;
    let meter = Meter::start()?;
    let Generated { accepted, latency } = generator.go().await?;
    let sample = meter.stop(accepted)?;
    generator.end().await?;
    served.stop().await;
    Ok((sample, latency))
}

fn tell(report: &mut Report, how: &str, rounds: &Rounds) {
    let times =
        rounds.howk.iter().zip(&rounds.bare).map(|((howk, _), (bare, _))| howk.cpu_us_each() / bare.cpu_us_each());
    let times = median(times);
    report.figure(format!("times the CPU of the bare handler, {how}"), times);
    row(report, &format!("howk, {how}"), (&rounds.howk, fine(times)));
    row(report, &format!("bare handler, {how}"), (&rounds.bare, String::new()));
}

fn row(report: &mut Report, side: &str, (rounds, times): (&[Round], String)) {
    let of = |figure: fn(&Round) -> f64| median(rounds.iter().map(figure));
    let rates = [
        ("per CPU second", of(|(sample, _)| sample.per_cpu_second())),
        ("CPU us each", of(|(sample, _)| sample.cpu_us_each())),
        ("per second", of(|(sample, _)| sample.per_second())),
        ("p50 ms", of(|(_, latency)| latency.p50_ms())),
        ("p99 ms", of(|(_, latency)| latency.p99_ms())),
    ];
    let mut cells = vec![side.to_owned()];
    for (name, value) in rates {
        report.figure(format!("{name}, {side}"), value);
        cells.push(if name.ends_with("second") { whole(value) } else { fine(value) });
    }
    cells.push(times);
    report.row(cells);
}
