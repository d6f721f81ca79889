//! Logs to standard error, and metrics for `/metrics`.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use delivery::observe;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use settings::{Log, LogFormat};
use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::time::ChronoLocal;

/// Renders the metrics as Prometheus text.
pub type RenderMetrics = Arc<dyn Fn() -> String + Send + Sync>;

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogStyle {
    /// For a person at a terminal: the time of day, the level, the message, then its fields.
    Terminal,
    /// For a file or a pipe, as text: a whole timestamp and the module too.
    Text,
    /// For a program: one JSON object a line.
    Json,
}

impl LogStyle {
    /// The style of standard error: text that goes to a terminal is written for a person.
    pub fn of_stderr(log: &Log) -> Self {
        match log.format {
            LogFormat::Json => Self::Json,
            LogFormat::Text if std::io::stderr().is_terminal() => Self::Terminal,
            LogFormat::Text => Self::Text,
        }
    }
}

/// Starts logging to standard error.
///
/// # Errors
/// When a logger is installed already.
pub fn start_logging(log: &Log, style: LogStyle) -> anyhow::Result<()> {
    let is_terminal = std::io::stderr().is_terminal();
    tracing::subscriber::set_global_default(subscriber(log, style, (is_terminal, std::io::stderr)))
        .context("logging could not be started")
}

fn subscriber<W>(log: &Log, style: LogStyle, (is_terminal, writer): (bool, W)) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt().with_env_filter(EnvFilter::new(log.level.name()));
    let builder = builder.with_writer(writer);
    // By default it has colours unless NO_COLOR is set.
    let builder = if is_terminal { builder } else { builder.with_ansi(false) };
    match style {
        LogStyle::Terminal => {
            let builder = builder.compact().with_target(false);
            Box::new(builder.with_timer(ChronoLocal::new("%H:%M:%S".to_owned())).finish())
        }
        LogStyle::Text => Box::new(builder.finish()),
        LogStyle::Json => Box::new(builder.json().finish()),
    }
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
    run_upkeep(handle.clone())?;
    metrics::set_global_recorder(recorder).ok().context("metrics are recorded already")?;
    observe::describe();
    Ok(Arc::new(move || handle.render()))
}

/// Sums samples up once a second: without a scraper they would fill the memory.
fn run_upkeep(handle: PrometheusHandle) -> std::io::Result<()> {
    let summing = move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            handle.run_upkeep();
        }
    };
    std::thread::Builder::new().name("metrics-upkeep".to_owned()).spawn(summing).map(drop)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;

    fn written(style: LogStyle) -> String {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let log = settings::Settings::default().log;
        let subscriber = subscriber(&log, style, (false, Arc::clone(&file)));
        tracing::subscriber::with_default(subscriber, || {
            tracing::error_span!("deliver", webhook_id = "wh_1")
                .in_scope(|| tracing::info!(status = 503, "attempt 1: 503, again in 2.0s"));
        });
        let mut text = String::new();
        (&*file).rewind().unwrap();
        (&*file).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_terminal_gets_one_short_line_for_an_event() {
        let line = written(LogStyle::Terminal);
        let (time, rest) = line.split_at(8);
        assert!(time.bytes().all(|byte| byte.is_ascii_digit() || byte == b':'), "{line}");
        assert_eq!(rest.split_whitespace().next(), Some("INFO"), "{line}");
        assert!(rest.contains("attempt 1: 503, again in 2.0s") && rest.contains("webhook_id=\"wh_1\""), "{line}");
        assert!(!line.contains("server::") && line.lines().count() == 1, "no module path: {line}");
    }

    #[test]
    fn a_file_gets_the_module_and_the_whole_timestamp_and_a_program_gets_json() {
        let text = written(LogStyle::Text);
        assert!(
            text.contains("server::telemetry") && text.contains('T') && text.contains("attempt 1: 503"),
            "{text}"
        );
        let json = written(LogStyle::Json);
        assert!(json.starts_with('{') && json.contains("\"attempt 1: 503, again in 2.0s\""), "{json}");
    }
}
