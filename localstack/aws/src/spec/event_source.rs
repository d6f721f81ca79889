//! How an event source reads a topic and what it does about failures.

use std::time::Duration;

use serde::Deserialize;

use super::milliseconds::{ms, ms_or_none};

/// An event source mapping of Kafka.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventSourceSpec {
    /// The function to invoke.
    pub function: String,
    /// The topic to read, as `infra/topics.json` calls it.
    pub topic: String,
    /// The most records of one invocation; 1 to 10,000.
    #[serde(default = "batch_size")]
    pub batch_size: usize,
    /// How long the first record of a batch may wait for others; 0 to 300,000 ms.
    #[serde(rename = "window_ms", deserialize_with = "ms", default = "window")]
    pub window: Duration,
    /// The most bytes of one event. The default is AWS's limit, which can't be changed there.
    #[serde(default = "payload_bytes")]
    pub payload_bytes_max: usize,
    /// How many invocations may be under way at once, each with partitions of its own.
    #[serde(default = "pollers")]
    pub pollers: u32,
    /// Where a consumer group without commits begins to read.
    #[serde(default)]
    pub starting_position: StartingPosition,
    /// How an event shows a tombstone's value.
    #[serde(default)]
    pub tombstones: Tombstones,
    /// Whether the function's answer may name the records of a batch that failed.
    #[serde(default)]
    pub report_batch_item_failures: bool,
    /// Which records are tried again when it does.
    #[serde(default)]
    pub partial_response: PartialResponse,
    /// Whether a failed batch is split in two.
    #[serde(default)]
    pub bisect: bool,
    /// When a batch is given up.
    #[serde(default)]
    pub retry: RetryPolicy,
    /// The topic for records that are given up.
    #[serde(default)]
    pub on_failure_topic: Option<String>,
}

/// When a batch is given up. By default never.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetryPolicy {
    /// How often a batch is tried again; without end when absent.
    #[serde(default)]
    pub retries_max: Option<u32>,
    /// How old a record may be when it is handed over; any age when absent.
    #[serde(rename = "record_age_max_ms", deserialize_with = "ms_or_none", default)]
    pub record_age_max: Option<Duration>,
}

/// Where a consumer group without commits begins to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StartingPosition {
    /// At the oldest record.
    #[default]
    TrimHorizon,
    /// At the next record that is written.
    Latest,
}

/// How an event shows a record without a value. AWS has been seen to do both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tombstones {
    /// `"value": null`.
    #[default]
    Null,
    /// No `value`.
    Missing,
}

/// How a partial response is read. AWS's documentation can be understood either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartialResponse {
    /// Only the records that are named are tried again.
    #[default]
    OnlyFailed,
    /// Every record of a partition from the first named one on is tried again.
    FromFirstFailed,
}

impl EventSourceSpec {
    /// A mapping with AWS's defaults, one poller.
    pub fn new(function: impl Into<String>, topic: impl Into<String>) -> Self {
        Self {
            function: function.into(),
            topic: topic.into(),
            batch_size: batch_size(),
            window: window(),
            payload_bytes_max: payload_bytes(),
            pollers: pollers(),
            starting_position: StartingPosition::default(),
            tombstones: Tombstones::default(),
            report_batch_item_failures: false,
            partial_response: PartialResponse::default(),
            bisect: false,
            retry: RetryPolicy::default(),
            on_failure_topic: None,
        }
    }

    pub(super) fn mistakes(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        let mut check = |fits: &dyn Fn() -> bool, what: &str| {
            if !fits() {
                mistakes.push(format!("the event source of {}: {what}", self.function));
            }
        };
        check(&|| (1..=10_000).contains(&self.batch_size), "batch_size is 1 to 10000");
        check(&|| self.window <= Duration::from_mins(5), "window_ms is at most 300000");
        check(&|| self.pollers > 0, "pollers is at least 1");
        let on_failure = self.on_failure_topic.as_ref();
        check(&|| on_failure.is_none_or(|topic| *topic != self.topic), "on_failure_topic is another topic");
        mistakes
    }
}

const fn batch_size() -> usize {
    100
}

const fn window() -> Duration {
    Duration::from_millis(500)
}

const fn payload_bytes() -> usize {
    6 * 1024 * 1024
}

const fn pollers() -> u32 {
    1
}
