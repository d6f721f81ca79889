//! A schedule that invokes a function by the clock.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::milliseconds::ms;

/// A schedule of EventBridge Scheduler, by a rate.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleSpec {
    /// The function to invoke, asynchronously.
    pub function: String,
    /// The time between two firings; the first is at once. AWS's shortest is a minute.
    #[serde(rename = "rate_ms", deserialize_with = "ms", default = "rate")]
    pub rate: Duration,
    /// How often a failed handing over is tried again; 0 to 185.
    #[serde(default = "retries")]
    pub retries: u32,
    /// How long handing over is tried.
    #[serde(rename = "event_age_ms", deserialize_with = "ms", default = "event_age")]
    pub event_age: Duration,
    /// How often each event is handed over: 1, or more to show that "at least once" may be twice.
    #[serde(default = "copies")]
    pub copies: u32,
    /// The payload, with Scheduler's context attributes in it; without one, Scheduler's own payload.
    #[serde(default)]
    pub input: Option<Value>,
}

impl ScheduleSpec {
    /// A schedule with AWS's defaults, every minute.
    pub fn new(function: impl Into<String>) -> Self {
        Self {
            function: function.into(),
            rate: rate(),
            retries: retries(),
            event_age: event_age(),
            copies: copies(),
            input: None,
        }
    }
}

const fn rate() -> Duration {
    Duration::from_mins(1)
}

const fn retries() -> u32 {
    185
}

const fn event_age() -> Duration {
    Duration::from_hours(24)
}

const fn copies() -> u32 {
    1
}
