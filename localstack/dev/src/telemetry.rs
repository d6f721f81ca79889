//! Logs to standard error, metrics to whoever asks for them.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use delivery::observe;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use settings::{Log, LogFormat};
use tracing_subscriber::EnvFilter;

/// Renders the metrics as Prometheus text.
pub type RenderMetrics = Arc<dyn Fn() -> String + Send + Sync>;

/// Starts logging.
///
/// # Errors
/// When a logger is installed already.
pub fn start_logging(log: &Log) -> anyhow::Result<()> {
    let filter = EnvFilter::new(log.level.name());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let builder = builder.with_ansi(std::io::stderr().is_terminal());
    let installed = match log.format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    installed.map_err(|error| anyhow::anyhow!("logging could not be started: {error}"))
}

/// Starts recording metrics.
///
/// # Errors
/// When a recorder is installed already.
pub fn start_metrics() -> anyhow::Result<RenderMetrics> {
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full(observe::DURATION.to_owned()), &observe::DURATION_BUCKETS)?
        .build_recorder();
    let handle = recorder.handle();
    keep_up(handle.clone())?;
    metrics::set_global_recorder(recorder).ok().context("metrics are recorded already")?;
    observe::describe();
    Ok(Arc::new(move || handle.render()))
}

/// Sums samples up once a second: they would pile up until somebody scrapes.
fn keep_up(handle: PrometheusHandle) -> std::io::Result<()> {
    let summing = move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            handle.run_upkeep();
        }
    };
    std::thread::Builder::new().name("metrics-upkeep".to_owned()).spawn(summing).map(drop)
}
