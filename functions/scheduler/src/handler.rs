//! Decode, run until shortly before the deadline, answer.

use delivery::scheduler::{Ran, Scheduler};
use lambda_kit::{Failure, Handler, Invoked};
use serde::Serialize;
use wire::lambda::Scheduled;

/// Runs the scheduler for one invocation.
#[derive(Clone)]
pub struct ScheduleHandler {
    /// What is run.
    pub scheduler: Scheduler,
}

/// What an invocation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Webhooks released.
    pub released: u64,
    /// Ticks that failed; later ones, of this invocation or the next, repeat them.
    pub faults: u64,
}

impl Handler for ScheduleHandler {
    type Answer = Answer;

    async fn handle(&self, event: &str, invoked: Invoked) -> Result<Answer, Failure> {
        let Scheduled { .. } = Scheduled::decode(event)?;
        let Ran { released, faults } = self.scheduler.run(Some(invoked.until)).await;
        Ok(Answer { released, faults })
    }
}
