//! The receiver, a child process: answers 200 to every POST, at once or, under `/slow/`, after 100 to 300 ms,
//! and under `/steady/` after 100 ms.
//!
//! `GET /_/count`, `/_/numbers` and `/_/latency` return what it recorded.

use std::io::Write;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::routing::get;
use axum::{Json, Router};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use crate::cli::{ReceiverOptions, Recording};
use crate::measure::{Latencies, Percentiles, realtime_us};
use crate::payload;

/// The path under which answers are slow.
pub(crate) const SLOW: &str = "/slow/";
/// The path under which answers take [`STEADY`].
pub(crate) const STEADY_PATH: &str = "/steady/";
/// How long they take there.
pub(crate) const STEADY: Duration = Duration::from_millis(100);
const SLOW_MS_MIN: u64 = 100;
const SLOW_MS_MAX: u64 = 300;

#[derive(Debug)]
struct Received {
    recording: Recording,
    count: AtomicU64,
    numbers: Vec<AtomicU8>,
    latencies: Mutex<Latencies>,
}

impl Received {
    fn new(options: &ReceiverOptions) -> anyhow::Result<Self> {
        Ok(Self {
            recording: options.record,
            count: AtomicU64::new(0),
            numbers: (0..options.numbers).map(|_| AtomicU8::new(0)).collect(),
            latencies: Mutex::new(Latencies::new()?),
        })
    }

    fn record(&self, body: &[u8]) -> StatusCode {
        let recorded = match self.recording {
            Recording::Nothing => Some(()),
            Recording::Numbers => self.record_number(body),
            Recording::Latency => self.record_latency(body),
        };
        if recorded.is_none() {
            return StatusCode::BAD_REQUEST;
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        StatusCode::OK
    }

    fn record_number(&self, body: &[u8]) -> Option<()> {
        let marks = payload::read(body).ok()?;
        let number = self.numbers.get(usize::try_from(marks.n).ok()?)?;
        number.update(Ordering::Relaxed, Ordering::Relaxed, |times| times.saturating_add(1));
        Some(())
    }

    fn record_latency(&self, body: &[u8]) -> Option<()> {
        let now = realtime_us();
        let marks = payload::read(body).ok()?;
        let mut latencies = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
        latencies.record(now.saturating_sub(marks.sent_at_us));
        Some(())
    }
}

/// Serves on a free port of 127.0.0.1, prints that port, and ends when standard input is closed.
///
/// # Errors
/// When it cannot serve.
pub(crate) async fn serve(options: &ReceiverOptions) -> anyhow::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    writeln!(std::io::stdout(), "{}", listener.local_addr()?.port())?;
    let router = router(Arc::new(Received::new(options)?));
    let mut input = Vec::new();
    let mut stdin = tokio::io::stdin();
    tokio::select! {
        served = async { axum::serve(listener, router).await } => Ok(served?),
        _ = stdin.read_to_end(&mut input) => Ok(()),
    }
}

fn router(received: Arc<Received>) -> Router {
    Router::new()
        .route(
            "/_/count",
            get(async |State(received): State<Arc<Received>>| Json(received.count.load(Ordering::Relaxed))),
        )
        .route("/_/numbers", get(numbers))
        .route("/_/latency", get(latency))
        .fallback(receive)
        .with_state(received)
}

async fn receive(State(received): State<Arc<Received>>, uri: Uri, body: Bytes) -> StatusCode {
    if uri.path().starts_with(SLOW) {
        let spread = received.count.load(Ordering::Relaxed).wrapping_mul(37) % (SLOW_MS_MAX - SLOW_MS_MIN + 1);
        tokio::time::sleep(Duration::from_millis(SLOW_MS_MIN + spread)).await;
    }
    if uri.path().starts_with(STEADY_PATH) {
        tokio::time::sleep(STEADY).await;
    }
    received.record(&body)
}

async fn numbers(State(received): State<Arc<Received>>) -> Vec<u8> {
    received.numbers.iter().map(|times| times.load(Ordering::Relaxed)).collect()
}

async fn latency(State(received): State<Arc<Received>>) -> Json<Percentiles> {
    Json(received.latencies.lock().unwrap_or_else(PoisonError::into_inner).percentiles())
}
