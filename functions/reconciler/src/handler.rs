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
use serde::Serialize;
use wire::lambda::Scheduled;

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

impl std::fmt::Debug for RebuildHandler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RebuildHandler").field("rebuild", &self.rebuild).finish_non_exhaustive()
    }
}

/// The result of an invocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Answer {
    /// The hot state is complete.
    UpToDate,
    /// Another invocation holds the lock and rebuilds.
    Busy,
    /// The schedule was compared with the log, and missing webhooks were put back.
    Swept {
        /// Records replayed.
        replayed: u64,
        /// Webhooks in the schedule now.
        waiting: u64,
    },
    /// The deadline came first; the next invocation continues.
    Unfinished(Progress),
    /// The hot state is rebuilt.
    Done(Progress),
}

/// How far a rebuild is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Phases that are done, of three: the schedule, statuses, dead letters. Deliveries resume after the first.
    pub phases: u32,
    /// Records replayed so far, by this invocation and the ones before it.
    pub replayed: u64,
    /// Webhooks in the schedule now.
    pub waiting: u64,
    /// The fingerprint of the schedule after a complete rebuild: equal for equal webhooks at equal times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

impl Handler for RebuildHandler {
    type Answer = Answer;

    async fn handle(&self, event: &str, invoked: Invoked) -> Result<Answer, Failure> {
        let when = if Scheduled::decode(event)?.force { When::Always } else { When::IfLost };
        let holder = ClaimHolder(format!("{:032x}", self.random.bits()));
        let rebuilt = self.rebuild.run(&holder, when, Some(invoked.until)).await?;
        let answer = match rebuilt {
            Rebuilt::UpToDate => return Ok(Answer::UpToDate),
            Rebuilt::Busy => return Ok(Answer::Busy),
            Rebuilt::Swept { replayed } => Answer::Swept { replayed, waiting: self.waiting().await? },
            Rebuilt::Unfinished(cursor) => {
                Answer::Unfinished(self.progress((cursor.phase, cursor.replayed), None).await?)
            }
            Rebuilt::Done { replayed, fingerprint } => {
                Answer::Done(self.progress((PHASES, replayed), Some(format!("{fingerprint:016x}"))).await?)
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
    ) -> Result<Progress, Failure> {
        Ok(Progress { phases, replayed, waiting: self.waiting().await?, fingerprint })
    }

    async fn waiting(&self) -> Result<u64, Failure> {
        let Depth { waiting, .. } = self.schedule.depth(self.rebuild.clock.now()).await?;
        Ok(waiting)
    }
}
