//! Answers of the functions that a schedule starts, and the report of a function that cannot start.

use serde::Serialize;

/// What one invocation of the scheduler did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ScheduleAnswer {
    /// Webhooks released.
    pub released: u64,
    /// Ticks that failed; later ones, of this invocation or the next, repeat them.
    pub faults: u64,
}

/// What one invocation of the reconciler found or did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum RebuildAnswer {
    /// Nothing was lost.
    UpToDate,
    /// Another invocation rebuilds.
    Busy,
    /// The waiting webhooks were compared with the log, and put back where they were missing.
    Swept {
        /// Records replayed.
        replayed: u64,
        /// Webhooks that wait for their time now.
        waiting: u64,
    },
    /// The deadline came first; the next invocation goes on.
    Unfinished(RebuildProgress),
    /// All is rebuilt.
    Done(RebuildProgress),
}

/// How much is restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RebuildProgress {
    /// Phases that are done, of three: the waiting webhooks, statuses, dead letters. Work goes on after the first.
    pub phases: u32,
    /// Records replayed so far, by this invocation and those before it.
    pub replayed: u64,
    /// Webhooks that wait for their time now.
    pub waiting: u64,
    /// The fingerprint of what waits, once all is rebuilt: the same for the same webhooks at the same times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// Why a function does not start: the body of a request to the Runtime API's `/runtime/init/error`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InitErrorReport<'a> {
    error_type: &'a str,
    error_message: &'a str,
    stack_trace: [&'a str; 0],
}

impl<'a> InitErrorReport<'a> {
    /// A report of the stable code `error_type`, and the problem in words.
    pub const fn new(error_type: &'a str, error_message: &'a str) -> Self {
        Self { error_type, error_message, stack_trace: [] }
    }

    /// The body.
    pub fn encode(&self) -> Vec<u8> {
        crate::json::write(self, self.error_message.len().saturating_add(128))
    }
}
