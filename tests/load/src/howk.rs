//! A server's wiring, set up for a measurement, and the webhooks that go through it.

use std::sync::Arc;

use anyhow::ensure;
use delivery::enqueue::NewWebhook;
use delivery::rebuild::{Rebuilt, When};
use domain::{ClaimHolder, ConfigId, Endpoint, Payload, PayloadKind, Secret};
use in_memory::MemoryLimits;
use server::system::{Backend, Sending, System};
use settings::Settings;

use crate::cli::Shape;
use crate::measure::realtime_us;
use crate::payload::{self, Marks};

/// A bound on memory that no measurement reaches.
const BYTES_MAX: u64 = 16 << 30;
/// Webhooks that are enqueued together.
const BATCH: u32 = 100;

/// howk's defaults, with this many requests in flight and limits for endpoints and tenants that are never reached.
pub(crate) fn settings(concurrency: u32) -> Settings {
    let mut settings = Settings::default();
    settings.api.port = 0;
    settings.delivery.allow_private_addresses = true;
    settings.delivery.concurrency = concurrency;
    settings.delivery.max_idle_conns = concurrency.max(settings.delivery.max_idle_conns);
    settings.kafka.per_key_parallelism = 64;
    settings.concurrency.max_inflight_per_endpoint = 100_000;
    settings
}

/// howk's default limits, except the memory for pending webhooks.
pub(crate) fn limits() -> MemoryLimits {
    MemoryLimits { bytes_max: BYTES_MAX, ..MemoryLimits::default() }
}

/// Wires a server over an empty in-memory back end that counts as whole.
///
/// # Errors
/// When it cannot be built.
pub(crate) async fn system(settings: &Settings, limits: &MemoryLimits) -> anyhow::Result<System> {
    let (backend, _) = Backend::in_memory(limits);
    system_on(settings, backend).await
}

/// Wires a server over an empty back end, which then counts as whole.
///
/// # Errors
/// When it cannot be built, or the rebuild does not end.
pub(crate) async fn system_on(settings: &Settings, backend: Backend) -> anyhow::Result<System> {
    let system = System::new(settings, backend, Sending::Real)?;
    let rebuilt = system.rebuild.run(&ClaimHolder("howk-load".to_owned()), When::IfLost, None).await?;
    ensure!(matches!(rebuilt, Rebuilt::Done { .. } | Rebuilt::UpToDate), "an empty back end is rebuilt at once");
    Ok(system)
}

/// The config id of a tenant, by a number that wraps around.
pub(crate) fn tenant(n: u32, tenants: u32) -> String {
    format!("tenant-{}", n % tenants.max(1))
}

/// The webhooks of a measurement, by number.
#[derive(Debug)]
pub(crate) struct Webhooks {
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) shape: Shape,
    pub(crate) secrets: Vec<Secret>,
    pub(crate) max_attempts: u32,
}

impl Webhooks {
    /// Webhook number `n`; tenants and endpoints take turns.
    ///
    /// # Errors
    /// When there is no endpoint.
    pub(crate) fn webhook(&self, n: u32) -> anyhow::Result<NewWebhook> {
        let index = usize::try_from(n)? % self.endpoints.len().max(1);
        let Some(endpoint) = self.endpoints.get(index) else { anyhow::bail!("there is no endpoint") };
        let text = payload::write(&Marks { n, sent_at_us: realtime_us() }, self.shape.payload_bytes);
        Ok(NewWebhook {
            config_id: ConfigId::parse(&tenant(n, self.shape.tenants))?,
            endpoint: endpoint.clone(),
            payload: Payload { bytes: Arc::from(text.into_bytes()), kind: PayloadKind::Json },
            headers: Vec::new(),
            idempotency_key: None,
            signing_secrets: self.secrets.clone(),
            max_attempts: self.max_attempts,
            retry_on_status: Vec::new(),
            trace: None,
        })
    }

    /// Enqueues the webhooks from `first` to before `end`, in batches.
    ///
    /// # Errors
    /// When howk does not accept all of them.
    pub(crate) async fn enqueue(&self, system: &System, first: u32, end: u32) -> anyhow::Result<()> {
        let mut next = first;
        while next < end {
            let stop = next.saturating_add(BATCH).min(end);
            let batch = (next..stop).map(|n| self.webhook(n)).collect::<anyhow::Result<Vec<_>>>()?;
            let sent = batch.len();
            let ids = system.enqueue.enqueue(batch).await?;
            ensure!(ids.len() == sent, "{sent} webhooks got {} ids", ids.len());
            next = stop;
        }
        Ok(())
    }
}
