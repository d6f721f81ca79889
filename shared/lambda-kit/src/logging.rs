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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().map_err(|_| io::ErrorKind::Other)?.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_one_flat_object_with_the_ids_of_the_spans_it_stands_in() {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = subscriber(move || writer.clone(), settings::LogLevel::Info);
        tracing::subscriber::with_default(subscriber, || {
            let invocation = tracing::info_span!("Lambda runtime invoke", requestId = "request-7").entered();
            tracing::error_span!("deliver", webhook_id = "wh_1")
                .in_scope(|| tracing::warn!(fault = "a\nb", "settling again"));
            tracing::debug!("below the level");
            drop(invocation);
            tracing::info!("starting");
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [warned, started] = lines.as_slice() else { panic!("{text}") };
        for (name, value) in [
            ("level", "WARN"),
            ("message", "settling again"),
            ("fault", "a\nb"),
            ("requestId", "request-7"),
            ("webhook_id", "wh_1"),
        ] {
            assert_eq!(warned[name], value, "{name} in {text}");
        }
        assert!(warned["timestamp"].is_string() && started.get("requestId").is_none(), "{text}");
    }
}
