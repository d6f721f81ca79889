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
use serde::Serialize;
use wire::lambda::Scheduled;

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

/// What an invocation found or did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Answer {
    /// Nothing was lost.
    UpToDate,
    /// Another invocation rebuilds.
    Busy,
    /// What waits was compared with the log, and put back where it was missing.
    Swept {
        /// Records replayed.
        replayed: u64,
        /// Webhooks that wait for their time now.
        waiting: u64,
    },
    /// The deadline came first; the next invocation goes on.
    Unfinished(Progress),
    /// All is rebuilt.
    Done(Progress),
}

/// What was restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Phases that are done, of three: what waits, statuses, dead letters. Work goes on after the first.
    pub phases: u32,
    /// Records replayed so far, by this invocation and those before it.
    pub replayed: u64,
    /// Webhooks that wait for their time now.
    pub waiting: u64,
    /// The fingerprint of what waits, once all is rebuilt: the same for the same webhooks at the same times.
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
    ) -> Result<Progress, Failure> {
        Ok(Progress { phases, replayed, waiting: self.waiting().await?, fingerprint })
    }

    async fn waiting(&self) -> Result<u64, Failure> {
        let Depth { waiting, .. } = self.schedule.depth(self.rebuild.clock.now()).await?;
        Ok(waiting)
    }
}
