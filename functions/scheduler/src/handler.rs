//! Decode, run until shortly before the deadline, answer.

use delivery::scheduler::{Ran, Scheduler};
use lambda_kit::{Failure, Handler, Invoked};
use serde::Serialize;
use wire::lambda::Scheduled;

/// Runs the scheduler for one invocation.
#[derive(Debug, Clone)]
pub struct ScheduleHandler {
    /// The use-case.
    pub scheduler: Scheduler,
}

/// The result of an invocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Webhooks released.
    pub released: u64,
    /// Ticks that failed. Later ticks, of this invocation or the next, repeat their work.
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
