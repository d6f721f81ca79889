//! Use-case release: due webhooks are published to a lane, in batches. The scheduler calls it.
//!
//! A batch is leased, published and forgotten, in groups bounded by bytes; a group is forgotten before the next one is
//! published. A crash after a publish releases that group once more when the lease ends: the second dispatch is the same
//! one, and a dispatch is claimed once (CL-1). After a crash between two groups the later groups are due again when the
//! lease ends. An entry that cannot be read is never dropped (X8). A group that the log refuses for good is released one by
//! one: a webhook that the log no longer accepts, as after an operator lowered the largest record size, stays due and holds
//! up no other.

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
    /// Where they are published.
    pub log: Arc<dyn Log>,
    /// The due set.
    pub schedule: Arc<dyn Schedule>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The source of lease tokens.
    pub random: Arc<dyn Random>,
    /// How many are released together at most.
    pub batch_max: usize,
    /// How long a release may take before another one may repeat it.
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
                        log_refusal(waiting, &fault);
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

fn log_refusal(waiting: &Waiting, fault: &Fault) {
    let webhook_id = &waiting.dispatch.webhook.id;
    tracing::error!(%webhook_id, fault = fault.chain(), "the log refuses a webhook that is due; it stays due until the log accepts it");
}
