//! The lines that the functions' processes print.

use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// A text that every line of the embedded metric format contains.
const METRICS: &str = "\"CloudWatchMetrics\":";

/// A line that a function printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The function.
    pub function: String,
    /// The number of its environment.
    pub environment: u64,
    /// The line, without its end.
    pub text: String,
}

/// A destination of lines.
#[derive(Clone)]
pub struct Output(Arc<dyn Fn(Line) + Send + Sync>);

impl Line {
    fn log_for_people(&self) {
        tracing::info!(target: "function", "{}/{}: {}", self.function, self.environment, self.text);
    }

    fn log_for_machines(&self) {
        tracing::debug!(target: "function", "{}/{}: {}", self.function, self.environment, self.text);
    }
}

impl Output {
    /// Lines go to this closure.
    pub fn to(take: impl Fn(Line) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// Lines go to the log, at the level info; metrics, which are for machines, at the level debug.
    pub fn logged() -> Self {
        Self::to(|line| {
            if line.text.contains(METRICS) {
                line.log_for_machines();
            } else {
                line.log_for_people();
            }
        })
    }

    /// Reads lines until the pipe is closed.
    pub(super) async fn read(self, function: String, environment: u64, pipe: impl AsyncRead + Unpin) {
        let mut reader = BufReader::new(pipe);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes).await.is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
            (self.0)(Line { function: function.clone(), environment, text });
            bytes.clear();
        }
    }
}
