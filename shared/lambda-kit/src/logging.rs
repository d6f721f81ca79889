//! Log lines as JSON on standard output, where the platform collects them.
//!
//! One flat object a line: time, level, the fields of the spans it stands in, then its own. So the request id stands on
//! every line of an invocation, and the webhook id on every line about a webhook.

use json_subscriber::JsonLayer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::time::SystemTime;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;

/// What writes the lines.
pub(crate) fn subscriber<W>(writer: W, level: settings::LogLevel) -> impl tracing::Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let level: LevelFilter = level.name().parse().unwrap_or(LevelFilter::INFO);
    let mut layer = JsonLayer::<Registry>::stdout().with_writer(writer);
    layer
        .with_timer("timestamp", SystemTime)
        .with_level("level")
        .with_target("target")
        .with_top_level_flattened_span_list()
        .with_flattened_event();
    Registry::default().with(layer).with(level)
}
