//! Decode, rebuild until shortly before the deadline, answer in numbers.
//!
//! One rebuild may take any number of invocations: each continues at the cursor that the one before has stored. Repeated
//! and concurrent invocations are harmless, because a rebuild is idempotent and holds a lock.

use std::sync::Arc;

use delivery::ports::schedule::{Depth, Schedule};
use delivery::ports::time::Random;
use delivery::rebuild::{Rebuild, Rebuilt, When};
use domain::ClaimHolder;
use lambda_kit::{Failure, Handler, Invoked};
use wire::lambda::{RebuildAnswer, RebuildProgress, Scheduled};

/// Rebuilds as much of the hot state as one invocation has time for.
#[derive(Clone)]
pub struct RebuildHandler {
    /// The use-case.
    pub rebuild: Rebuild,
    /// The schedule, for counting the webhooks that wait.
    pub schedule: Arc<dyn Schedule>,
    /// The source of the name under which an invocation holds the lock.
    pub random: Arc<dyn Random>,
}

impl Handler for RebuildHandler {
    type Answer = RebuildAnswer;

    async fn handle(&self, event: &str, invoked: Invoked) -> Result<RebuildAnswer, Failure> {
        let when = if Scheduled::decode(event)?.force { When::Always } else { When::IfLost };
        let holder = ClaimHolder(format!("{:032x}", self.random.bits()));
        let rebuilt = self.rebuild.run(&holder, when, Some(invoked.until)).await?;
        let answer = match rebuilt {
            Rebuilt::UpToDate => return Ok(RebuildAnswer::UpToDate),
            Rebuilt::Busy => return Ok(RebuildAnswer::Busy),
            Rebuilt::Swept { replayed } => RebuildAnswer::Swept { replayed, waiting: self.waiting().await? },
            Rebuilt::Unfinished(cursor) => {
                RebuildAnswer::Unfinished(self.progress((cursor.phase, cursor.replayed), None).await?)
            }
            Rebuilt::Done { replayed, fingerprint } => {
                RebuildAnswer::Done(self.progress((PHASES, replayed), Some(format!("{fingerprint:016x}"))).await?)
            }
        };
        tracing::info!(?answer, "this invocation of the rebuild ended");
        Ok(answer)
    }
}

/// How many phases a rebuild has.
const PHASES: u32 = 3;

impl RebuildHandler {
    async fn progress(
        &self,
        (phases, replayed): (u32, u64),
        fingerprint: Option<String>,
    ) -> Result<RebuildProgress, Failure> {
        Ok(RebuildProgress { phases, replayed, waiting: self.waiting().await?, fingerprint })
    }

    async fn waiting(&self) -> Result<u64, Failure> {
        let Depth { waiting, .. } = self.schedule.depth(self.rebuild.clock.now()).await?;
        Ok(waiting)
    }
}
