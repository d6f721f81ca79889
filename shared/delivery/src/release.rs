//! Use-case release: due webhooks go back to a lane, in batches.
//!
//! Lease, publish together, forget; large ones in groups, each of which is forgotten before the next one is published. Dying
//! after a publish releases its group once more when the lease ends; the second dispatch is the same one, and a dispatch is
//! claimed once (CL-1). Dying between two groups leaves the rest leased: it is due again when the lease ends. An unreadable
//! or lost entry is never dropped (X8). What the log refuses for good is released one by one: a webhook that it takes no
//! more, as when an operator made the largest record smaller, stays due, and holds up nobody else.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use domain::{Timestamp, Waiting, WebhookId, release};

use crate::fault::{Fault, FaultKind};
use crate::groups::{bytes_of, groups};
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
    /// A [`Fault`] of the log or the store; nothing is lost by it, what was not released stays leased and comes again.
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
        let mut left = VecDeque::from(groups(due, |waiting| bytes_of(&waiting.dispatch)));
        let (mut released, mut refused) = (0, None);
        while let Some(group) = left.pop_front() {
            match self.log.publish(group.iter().cloned().map(release).collect()).await {
                Ok(_) => released += self.forget(&lease, &group).await?,
                Err(fault) if fault.kind != FaultKind::Permanent => return Err(fault),
                Err(fault) => {
                    if let [waiting] = group.as_slice() {
                        tell_of_refusal(waiting, &fault);
                        refused = Some(fault);
                    } else {
                        group.into_iter().rev().for_each(|waiting| left.push_front(vec![waiting]));
                    }
                }
            }
        }
        refused.filter(|_| released == 0).map_or(Ok(released), Err)
    }

    async fn forget(&self, lease: &Lease, group: &[Waiting]) -> Result<usize, Fault> {
        let ids: Vec<WebhookId> = group.iter().map(|waiting| waiting.dispatch.webhook.id.clone()).collect();
        self.schedule.forget(lease, &ids).await?;
        metrics::counter!(observe::RELEASED).increment(u64::try_from(ids.len()).unwrap_or_default());
        Ok(ids.len())
    }
}

fn tell_of_refusal(waiting: &Waiting, fault: &Fault) {
    let webhook_id = &waiting.dispatch.webhook.id;
    tracing::error!(%webhook_id, fault = fault.chain(), "the log refuses a webhook that is due; it stays due");
}
