//! Use-case enqueue: from a checked request to a durable webhook.
//!
//! Durable first: the ids are returned only after the log acknowledged every record. The statuses that are written to the
//! hot state after that are for readers; the lanes do not need them.

use std::sync::Arc;

use domain::{
    ConfigId, Dispatch, Endpoint, Header, Lane, Payload, Record, SealedHeader, Secret, Status, Timestamp,
    TraceParent, Webhook, WebhookId, Write,
};

use crate::fault::Fault;
use crate::observe;
use crate::ports::hot_state::HotState;
use crate::ports::log::Log;
use crate::ports::sender::{AddressRefused, Sender};
use crate::ports::time::{Clock, Random};
use crate::ports::vault::Vault;
use crate::stats_buffer::StatsBuffer;

/// A webhook as its caller wants it, checked field by field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWebhook {
    /// The tenant.
    pub config_id: ConfigId,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The payload.
    pub payload: Payload,
    /// The caller's headers.
    pub headers: Vec<Header>,
    /// Within a tenant one key is one webhook.
    pub idempotency_key: Option<String>,
    /// The secrets that requests are signed with.
    pub signing_secrets: Vec<Secret>,
    /// The number of requests at most.
    pub max_attempts: u32,
    /// Statuses that are retried although the rules would not.
    pub retry_on_status: Vec<u16>,
    /// The trace that the request belongs to.
    pub trace: Option<TraceParent>,
}

/// Accepts webhooks.
#[derive(Clone)]
pub struct Enqueue {
    /// The source of truth.
    pub log: Arc<dyn Log>,
    /// Where the statuses are written.
    pub hot: Arc<dyn HotState>,
    /// Knows which addresses the policy refuses.
    pub sender: Arc<dyn Sender>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Seals the secrets before they reach the log.
    pub vault: Arc<dyn Vault>,
    /// The source of ids.
    pub random: Arc<dyn Random>,
    /// The counters.
    pub stats: Arc<StatsBuffer>,
}

impl Enqueue {
    /// Refuses an endpoint that could never be sent to.
    ///
    /// # Errors
    /// [`AddressRefused`] with the reason for the caller.
    pub fn vet(&self, endpoint: &Endpoint) -> Result<(), AddressRefused> {
        self.sender.vet(endpoint)
    }

    /// Accepts webhooks, all of them in one trip to the log. The ids are in the order of `new`.
    ///
    /// Repeating a call with the same idempotency keys gives the same ids, and each is delivered once.
    ///
    /// # Errors
    /// A [`Fault`] when the log did not acknowledge all of them: none counts as accepted, the caller may repeat.
    pub async fn enqueue(&self, new: Vec<NewWebhook>) -> Result<Vec<WebhookId>, Fault> {
        let now = self.clock.now();
        let accepted = new.into_iter().map(|new| self.accept(new, now).map(Arc::new));
        let webhooks: Vec<_> = accepted.collect::<Result<_, _>>()?;
        let records = webhooks
            .iter()
            .map(|webhook| Record::Dispatch(Lane::Fast, Dispatch::first(Arc::clone(webhook))))
            .collect();
        self.log.publish(records).await.inspect_err(observe::faulted)?;
        metrics::counter!(observe::RECEIVED).increment(u64::try_from(webhooks.len()).unwrap_or_default());
        self.add_statuses(&webhooks, now).await;
        Ok(webhooks.iter().map(|webhook| webhook.id.clone()).collect())
    }

    fn accept(&self, new: NewWebhook, now: Timestamp) -> Result<Webhook, Fault> {
        let id = match &new.idempotency_key {
            Some(key) => WebhookId::derived(&new.config_id, key),
            None => WebhookId::fresh(now, self.random.bits()),
        };
        let seal = |secret: &Secret| self.vault.seal(&new.config_id, secret);
        let headers = new.headers.iter().map(|header| -> Result<_, Fault> {
            Ok(SealedHeader { name: header.name.clone(), value: seal(&header.value)? })
        });
        let headers = headers.collect::<Result<_, _>>()?;
        let signing_secrets = new.signing_secrets.iter().map(seal).collect::<Result<_, _>>()?;
        Ok(Webhook {
            id,
            config_id: new.config_id,
            endpoint: new.endpoint,
            payload: new.payload,
            headers,
            idempotency_key: new.idempotency_key,
            signing_secrets,
            max_attempts: new.max_attempts,
            retry_on_status: new.retry_on_status,
            created_at: now,
            trace: new.trace,
        })
    }

    /// Adds a status for each webhook, so that readers find it at once. A pending status is the lowest: any other status
    /// outranks it (W8).
    async fn add_statuses(&self, webhooks: &[Arc<Webhook>], now: Timestamp) {
        let statuses = webhooks
            .iter()
            .map(|webhook| Status::pending(webhook.id.clone(), webhook.config_id.clone(), 1, now))
            .map(Write::Merge)
            .collect();
        if let Err(fault) = self.hot.apply(statuses).await {
            for webhook in webhooks {
                tracing::warn!(webhook_id = %webhook.id, %fault, "an accepted webhook has no status yet");
            }
        }
        for webhook in webhooks {
            self.stats.enqueued(now, webhook.endpoint.hash());
        }
    }
}
