//! Decode, run until shortly before the deadline, answer.

use delivery::scheduler::{Ran, Scheduler};
use lambda_kit::{Failure, Handler, Invoked};
use wire::lambda::{ScheduleAnswer, Scheduled};

/// Runs the scheduler for one invocation.
#[derive(Clone)]
pub struct ScheduleHandler {
    /// The use-case.
    pub scheduler: Scheduler,
}

impl Handler for ScheduleHandler {
    type Answer = ScheduleAnswer;

    async fn handle(&self, event: &str, invoked: Invoked) -> Result<ScheduleAnswer, Failure> {
        let Scheduled { .. } = Scheduled::decode(event)?;
        let Ran { released, faults } = self.scheduler.run(Some(invoked.until)).await;
        Ok(ScheduleAnswer { released, faults })
    }
}
