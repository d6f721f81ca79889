//! Decode, rebuild until shortly before the deadline, answer in numbers.
//!
//! Any number of invocations make one rebuild: each goes on from the cursor of the one before. An invocation that is
//! repeated, or meets another one, changes nothing that is right.

use std::sync::Arc;

use delivery::ports::schedule::{Depth, Schedule};
use delivery::ports::time::Random;
use delivery::rebuild::{Rebuild, Rebuilt, When};
use domain::ClaimHolder;
use lambda_kit::{Failure, Handler, Invoked};
use wire::lambda::{RebuildAnswer, RebuildProgress, Scheduled};

/// Rebuilds in one invocation as much as there is time for.
#[derive(Clone)]
pub struct RebuildHandler {
    /// What is run.
    pub rebuild: Rebuild,
    /// Where what waits is counted.
    pub schedule: Arc<dyn Schedule>,
    /// What the lock's owner is drawn from.
    pub random: Arc<dyn Random>,
}

impl std::fmt::Debug for RebuildHandler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RebuildHandler").field("rebuild", &self.rebuild).finish_non_exhaustive()
    }
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
        tracing::info!(?answer, "rebuilt what there was time for");
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
