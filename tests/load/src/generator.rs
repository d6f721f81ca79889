//! The generator, a child process: POSTs webhooks over kept connections and reports how long answers took.
//!
//! It prints `ready`, waits for a line, does its work, and prints its report as one line of JSON.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, StatusCode};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::task::JoinSet;

use crate::cli::GeneratorOptions;
use crate::howk::tenant;
use crate::measure::{Latencies, Percentiles, instant, realtime_us};
use crate::payload::{self, Marks};

/// The path of endpoints whose receiver answers at once.
pub(crate) const PATH: &str = "/hook/";
/// Different endpoints that webhooks go to.
const ENDPOINTS: u32 = 64;
/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The report.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Generated {
    /// Webhooks accepted.
    pub(crate) accepted: u32,
    /// How long answers took, by request.
    pub(crate) latency: Percentiles,
}

/// Runs the generator.
///
/// # Errors
/// When any webhook is not accepted.
pub(crate) async fn run(options: &GeneratorOptions) -> anyhow::Result<()> {
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = Client::builder()
        .no_proxy()
        .tcp_nodelay(true)
        .timeout(ANSWER_TIMEOUT)
        .pool_max_idle_per_host(1_000)
        .build()?;
    let caller = Arc::new(Caller { client, options: options.clone(), next: AtomicU32::new(0) });
    writeln!(std::io::stdout(), "ready")?;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    if lines.next_line().await?.is_none() {
        bail!("standard input was closed before it said go");
    }
    let latencies = if options.rate == 0 { caller.fast().await? } else { caller.paced().await? };
    let report = Generated { accepted: options.count, latency: latencies.percentiles() };
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&report)?)?;
    lines.next_line().await?;
    Ok(())
}

#[derive(Debug)]
struct Caller {
    client: Client,
    options: GeneratorOptions,
    /// The number of the next webhook.
    next: AtomicU32,
}

impl Caller {
    /// Posts again on each connection as soon as it has its answer.
    async fn fast(self: &Arc<Self>) -> anyhow::Result<Latencies> {
        let mut loops = JoinSet::new();
        for _ in 0..self.options.concurrency {
            let caller = Arc::clone(self);
            loops.spawn(async move { caller.until_done().await });
        }
        let mut all = Latencies::new()?;
        while let Some(ended) = loops.join_next().await {
            all.add(&ended??)?;
        }
        Ok(all)
    }

    async fn until_done(&self) -> anyhow::Result<Latencies> {
        let mut latencies = Latencies::new()?;
        loop {
            let first = self.next.fetch_add(self.options.batch, Ordering::Relaxed);
            if first >= self.options.count {
                return Ok(latencies);
            }
            latencies.record(self.post(first).await?);
        }
    }

    /// Posts on time, even when earlier requests are not answered yet.
    async fn paced(self: &Arc<Self>) -> anyhow::Result<Latencies> {
        let mut ticks = tokio::time::interval(Duration::from_secs(1) / self.options.rate);
        let mut under_way = JoinSet::new();
        let mut all = Latencies::new()?;
        for first in 0..self.options.count {
            ticks.tick().await;
            let caller = Arc::clone(self);
            under_way.spawn(async move { caller.post(first).await });
            while let Some(ended) = under_way.try_join_next() {
                all.record(ended??);
            }
        }
        while let Some(ended) = under_way.join_next().await {
            all.record(ended??);
        }
        Ok(all)
    }

    /// POSTs the webhooks from `first` on, as many as a request carries; returns the microseconds it took.
    async fn post(&self, first: u32) -> anyhow::Result<u64> {
        let GeneratorOptions { port, batch, shape, .. } = &self.options;
        let base = format!("http://127.0.0.1:{port}/webhooks/{}/enqueue", tenant(first / batch, shape.tenants));
        let (url, body) = if *batch == 1 {
            (base, self.webhook(first))
        } else {
            let webhooks: Vec<String> = (first..first.saturating_add(*batch)).map(|n| self.webhook(n)).collect();
            (format!("{base}/batch"), format!("{{\"webhooks\":[{}]}}", webhooks.join(",")))
        };
        let request = self.client.post(url).header(CONTENT_TYPE, "application/json").body(body);
        let begun = instant();
        let answer = request.send().await?;
        let status = answer.status();
        let text = answer.text().await?;
        let took = begun.elapsed();
        ensure!(status == StatusCode::ACCEPTED, "webhook {first} was answered {status}: {text}");
        accepted_whole(&text).with_context(|| format!("the request with webhook {first}"))?;
        Ok(u64::try_from(took.as_micros()).unwrap_or(u64::MAX))
    }

    fn webhook(&self, n: u32) -> String {
        let GeneratorOptions { to, path, shape, .. } = &self.options;
        let payload = payload::write(&Marks { n, sent_at_us: realtime_us() }, shape.payload_bytes);
        format!("{{\"endpoint\":\"http://127.0.0.1:{to}{path}{}\",\"payload\":{payload}}}", n % ENDPOINTS)
    }
}

/// Fails when a part of a batch was refused.
fn accepted_whole(answer: &str) -> anyhow::Result<()> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(default)]
        failed: u32,
    }
    let answer: Answer = serde_json::from_str(answer).context("the answer is not JSON")?;
    ensure!(answer.failed == 0, "{} webhooks were refused", answer.failed);
    Ok(())
}
