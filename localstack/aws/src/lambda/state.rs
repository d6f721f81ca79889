//! The state of functions and environments, for the control API, the view and tests.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What an environment is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It has not asked for its first invocation yet.
    Starting,
    /// It waits for an invocation.
    Idle,
    /// It runs an invocation.
    Busy,
    /// Its process has ended.
    Ended,
}

/// One environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentState {
    /// Its number, which is never used again.
    pub id: u64,
    /// The id of its process.
    pub pid: u32,
    /// What it is doing.
    pub phase: Phase,
    /// Whether its process is stopped.
    pub frozen: bool,
    /// Invocations that it has answered or failed.
    pub invocations: u64,
    /// From the start of its process to its first poll, in ms.
    pub init_ms: Option<u64>,
    /// Why it ended.
    pub ended: Option<String>,
}

/// One function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionState {
    /// Its name.
    pub name: String,
    /// Invocations that ended.
    pub invocations: u64,
    /// Those of them that failed.
    pub errors: u64,
    /// Those of them that ran out of time.
    pub timeouts: u64,
    /// Invocations that were refused because no concurrency was left.
    pub throttles: u64,
    /// Environments that were started.
    pub cold_starts: u64,
    /// Asynchronous events that wait.
    pub queued: u64,
    /// Asynchronous events that were given up.
    pub given_up: u64,
    /// How long the invocations took together, in ms.
    pub busy_ms: u64,
    /// How long the last one took, in ms.
    pub last_ms: u64,
    /// How many may run at once, when that is limited.
    pub reserved_concurrency: Option<usize>,
    /// How long one may take, in ms.
    pub timeout_ms: u64,
    /// The environments that have not ended.
    pub environments: Vec<EnvironmentState>,
}

/// The counters of a function.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    pub(super) invocations: u64,
    pub(super) errors: u64,
    pub(super) timeouts: u64,
    pub(super) throttles: u64,
    pub(super) cold_starts: u64,
    pub(super) queued: u64,
    pub(super) given_up: u64,
    pub(super) busy: Duration,
    pub(super) last: Duration,
}

/// A duration in whole milliseconds.
pub(super) fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
