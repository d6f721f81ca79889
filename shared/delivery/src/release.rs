//! Use-case release: due webhooks go back to a lane, in batches.
//!
//! Lease, publish together, forget. Dying after the publish releases them once more when the lease ends; the second
//! dispatch is the same one, and a dispatch is claimed once (CL-1). An unreadable or lost entry is never dropped (X8).

use std::sync::Arc;
use std::time::Duration;

use domain::{Timestamp, WebhookId, release};

use crate::fault::Fault;
use crate::observe;
use crate::ports::log::Log;
use crate::ports::schedule::{Lease, Schedule};
use crate::ports::time::{Clock, Random};

/// Releases due webhooks. Any number of them may work at once.
#[derive(Clone)]
pub struct Release {
    /// Where they go.
    pub log: Arc<dyn Log>,
    /// Where they wait.
    pub schedule: Arc<dyn Schedule>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// What lease tokens are drawn from.
    pub random: Arc<dyn Random>,
    /// How many are released together at most.
    pub batch_max: usize,
    /// How long a release may take before others may repeat it.
    pub lease_time: Duration,
}

impl std::fmt::Debug for Release {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Release").field("batch_max", &self.batch_max).finish_non_exhaustive()
    }
}

/// What one tick did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticked {
    /// How many webhooks were released.
    pub released: usize,
    /// When the next one is due.
    pub next_due: Option<Timestamp>,
}

impl Release {
    /// Releases what is due, at most one batch.
    ///
    /// # Errors
    /// A [`Fault`] of the log or the store; nothing is lost by it, the entries stay leased and come again.
    pub async fn tick(&self) -> Result<Ticked, Fault> {
        let released = self.release().await.inspect_err(observe::faulted)?;
        let next_due = self.schedule.next_due().await?;
        Ok(Ticked { released, next_due })
    }

    /// Sets the gauges of what waits.
    ///
    /// # Errors
    /// A [`Fault`] of the store.
    pub async fn gauge(&self) -> Result<(), Fault> {
        self.schedule.depth(self.clock.now()).await.map(observe::gauge_depth)
    }

    async fn release(&self) -> Result<usize, Fault> {
        let now = self.clock.now();
        let token = format!("{:032x}", self.random.bits());
        let lease = Lease { token, now, until: now.plus(self.lease_time) };
        let due = self.schedule.lease(&lease, self.batch_max).await?;
        if due.is_empty() {
            return Ok(0);
        }
        let ids: Vec<WebhookId> = due.iter().map(|waiting| waiting.dispatch.webhook.id.clone()).collect();
        self.log.publish(due.into_iter().map(release).collect()).await?;
        self.schedule.forget(&lease, &ids).await?;
        metrics::counter!(observe::RELEASED).increment(u64::try_from(ids.len()).unwrap_or_default());
        Ok(ids.len())
    }
}
