//! `latency`: from POST to receiver, at a steady rate, through everything that a server runs.
//!
//! The generator writes the time of its POST into the payload, the receiver takes the difference on arrival; both read
//! the clock of the machine. The time until the answer to the POST is reported beside it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use server::Server;
use server::system::System;
use server::telemetry::RenderMetrics;

use crate::child::{Generator, Receiver};
use crate::cli::{GeneratorOptions, LatencyOptions, On, Recording};
use crate::generator;
use crate::howk;
use crate::measure::{Percentiles, instant};
use crate::report::{Aim, Bound, Report, fine};
use crate::services::Services;

/// The aims for the median, in milliseconds: in memory, and on Kafka and Redis.
const P50_MS_MAX: f64 = 2.0;
const SERVICES_P50_MS_MAX: f64 = 8.0;
/// How long the last webhooks may take to arrive.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);
const CONCURRENCY: u32 = 64;
/// The pause before the first POST. The members of a group learn by their heartbeats, 3 s apart, that another one
/// joined, and then assign the partitions anew, during which nothing is read.
const SETTLE: Duration = Duration::from_secs(8);

/// Runs the measurement.
///
/// # Errors
/// When anything does not arrive.
pub(crate) async fn run(options: &LatencyOptions) -> anyhow::Result<Report> {
    let metrics = server::telemetry::start_metrics()?;
    let settings = howk::settings(CONCURRENCY);
    let about = format!(
        "{} a second for {} s, payloads of {} bytes, {} tenants",
        options.rate, options.seconds, options.shape.payload_bytes, options.shape.tenants
    );
    let mut report = Report::new("latency", about, &["from POST to", "webhooks", "p50 ms", "p99 ms", "max ms"]);
    if options.services.on != On::Services {
        let system = howk::system(&settings, &howk::limits()).await?;
        let measured = one(options, &system, Arc::clone(&metrics)).await?;
        add_rows(&mut report, "in memory", (measured, P50_MS_MAX));
    }
    let services = Services::open(&options.services).await?;
    let Some(services) = services.filter(|_| options.services.on != On::Memory) else { return Ok(report) };
    let measured = async {
        let clients = services.connect().await?;
        let system = howk::system_on(&settings, clients.backend.clone()).await?;
        let measured = one(options, &system, metrics).await?;
        add_rows(&mut report, "on Kafka and Redis", (measured, SERVICES_P50_MS_MAX));
        anyhow::Ok(())
    };
    let measured = measured.await;
    services.clean_up().await?;
    measured.map(|()| report)
}

/// How old webhooks were when the receiver got them, and how long the answers to their POSTs took.
type Measured = [Percentiles; 2];

async fn one(options: &LatencyOptions, system: &System, metrics: RenderMetrics) -> anyhow::Result<Measured> {
    let settings = howk::settings(CONCURRENCY);
    let receiver = Receiver::start(Recording::Latency, 0).await?;
    let server = Server::start(system, &settings, metrics).await?;
    let count = options.rate.saturating_mul(options.seconds);
    tokio::time::sleep(SETTLE).await;
    let answered = generate(options, (port_of(&server.url)?, receiver.port)).await?;
    wait_for(&receiver, count).await?;
    let arrived = receiver.latency().await?;
    receiver.end().await?;
    server.shut_down(system).await;
    Ok([arrived, answered])
}

async fn generate(options: &LatencyOptions, (port, to): (u16, u16)) -> anyhow::Result<Percentiles> {
    let mut generator = Generator::start(&GeneratorOptions {
        port,
        to,
        count: options.rate.saturating_mul(options.seconds),
        batch: 1,
        concurrency: CONCURRENCY,
        rate: options.rate,
        path: generator::PATH.to_owned(),
        shape: options.shape.clone(),
    })
    .await?;
    let generated = generator.go().await?;
    generator.end().await?;
    Ok(generated.latency)
}

async fn wait_for(receiver: &Receiver, count: u32) -> anyhow::Result<()> {
    let begun = instant();
    loop {
        let arrived = receiver.count().await?;
        if arrived == u64::from(count) {
            return Ok(());
        }
        ensure!(begun.elapsed() < ARRIVAL_TIMEOUT, "{count} webhooks were accepted, {arrived} arrived");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn port_of(url: &str) -> anyhow::Result<u16> {
    let port = reqwest::Url::parse(url)?.port();
    port.ok_or_else(|| anyhow::anyhow!("{url} has no port"))
}

fn add_rows(report: &mut Report, on: &str, ([arrived, answered], p50_ms_max): (Measured, f64)) {
    for (name, latency) in [("receiver", &arrived), ("answer", &answered)] {
        let shown = [latency.p50_ms(), latency.p99_ms(), latency.max_ms()];
        let mut cells = vec![format!("{name}, {on}"), latency.count.to_string()];
        cells.extend(shown.map(fine));
        report.row(cells);
        for (figure, value) in ["p50 ms", "p99 ms", "max ms"].iter().zip(shown) {
            report.figure(format!("{figure} to {name}, {on}"), value);
        }
    }
    let name = format!("p50 in ms from POST to receiver, {on}");
    report.aims.push(Aim::new(name, arrived.p50_ms(), Bound::AtMost(p50_ms_max)));
}
