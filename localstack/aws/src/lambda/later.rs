//! Asynchronous invocations: accepted at once, run later, tried again.
//!
//! Events wait in this process and end with it, other than on AWS. An event that the function failed is tried again as
//! often as the function's spec says; one that was throttled, until it is too old. Events that are given up are counted and
//! logged.

use std::sync::Arc;
use std::time::Duration;

use super::answer::InvokeError;
use super::invocation::Invocation;
use super::service::Lambda;
use super::state::Counters;

/// Events that may wait for one function: a bound on this process's memory.
const QUEUE_MAX: u64 = 10_000;
/// The pause after the first failed try and after the second: AWS's values.
const PAUSES: [Duration; 2] = [Duration::from_mins(1), Duration::from_mins(2)];
/// The pause after a throttled try: the first, and the longest. It doubles from try to try, as on AWS.
const THROTTLED_PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(5));

/// What to do with an event after a try that failed.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    GiveUp(&'static str),
    Again(Duration),
}

/// How often an event has failed and was throttled so far.
#[derive(Debug, Clone, Copy, Default)]
struct Tried {
    failed: u32,
    throttled: u32,
}

impl Lambda {
    /// Takes an event to be handled later.
    ///
    /// # Errors
    /// When there is no such function, or too many events wait for it.
    pub fn invoke_later(&self, function: &str, invocation: Invocation) -> Result<(), InvokeError> {
        let queued = self.state_of(function).ok_or_else(|| InvokeError::Unknown(function.to_owned()))?.queued;
        if queued >= QUEUE_MAX {
            return Err(InvokeError::Throttled("QueueFull"));
        }
        let (lambda, function) = (self.clone(), function.to_owned());
        self.count(&function, |counters| counters.queued += 1);
        self.shared.tracker.spawn(async move {
            let stopping = lambda.shared.stopping.clone();
            tokio::select! {
                () = stopping.cancelled() => {}
                () = lambda.work_off(&function, &invocation) => {}
            }
            lambda.count(&function, |counters| counters.queued -= 1);
        });
        Ok(())
    }

    async fn work_off(&self, function: &str, invocation: &Invocation) {
        let clock = Arc::clone(&self.shared.clock);
        let Some(spec) = self.shared.programs.get(function).map(|program| &program.spec) else { return };
        let begun = clock.now();
        let mut tried = Tried::default();
        loop {
            match self.invoke(function, invocation.clone()).await {
                Ok(answer) if !answer.failed => return,
                Ok(_) => tried.failed += 1,
                Err(_) => tried.throttled += 1,
            }
            let timeout = spec.event_age.saturating_sub(clock.now().since(begun));
            match after(tried, spec.retries, timeout) {
                Next::Again(pause) => clock.sleep(pause).await,
                Next::GiveUp(why) => {
                    self.count(function, |counters| counters.given_up += 1);
                    tracing::warn!(function, request = invocation.id, why, "an asynchronous event is given up");
                    return;
                }
            }
        }
    }

    fn count(&self, function: &str, count: impl FnOnce(&mut Counters)) {
        self.shared.count(function, count);
    }
}

/// Decides about an event that failed or was throttled, and may wait for `timeout` before it is too old.
fn after(tried: Tried, retries: u32, timeout: Duration) -> Next {
    if tried.failed > retries {
        return Next::GiveUp("retries exhausted");
    }
    let pause = if tried.throttled > 0 {
        let (first, last) = THROTTLED_PAUSES;
        first.saturating_mul(1 << (tried.throttled - 1).min(16)).min(last)
    } else {
        let failed = usize::try_from(tried.failed).unwrap_or(usize::MAX);
        PAUSES.get(failed.saturating_sub(1)).or(PAUSES.last()).copied().unwrap_or_default()
    };
    if pause > timeout { Next::GiveUp("too old") } else { Next::Again(pause) }
}
