//! The functions, event sources and schedules to run, as `infra/functions.json` lists them.
//!
//! The one list that the deployment, this stack and the tests share: the deployment's defaults are held equal to it by a
//! test (infra/test/functions.test.ts). The addresses of Kafka and Redis and the functions' variables come from the
//! settings.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

mod event_source;
mod milliseconds;
mod schedule;

pub use event_source::{EventSourceSpec, PartialResponse, RetryPolicy, StartingPosition, Tombstones};
pub use schedule::ScheduleSpec;

use milliseconds::ms;

/// The functions, event sources and schedules to run.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StackSpec {
    /// The functions.
    pub functions: Vec<FunctionSpec>,
    /// The event sources, which invoke them with records of Kafka.
    pub event_sources: Vec<EventSourceSpec>,
    /// The schedules, which invoke them by the clock.
    pub schedules: Vec<ScheduleSpec>,
}

impl StackSpec {
    /// `infra/functions.json`, as it stood when this was built.
    ///
    /// # Errors
    /// Never: the file is compiled in, and a test reads it.
    pub fn howk() -> anyhow::Result<Self> {
        Self::parse(include_str!("../../../infra/functions.json"))
    }

    /// Reads a list like `infra/functions.json`.
    ///
    /// # Errors
    /// Every mistake in it.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let spec: Self = serde_json::from_str(text)?;
        let known = |name: &str| spec.functions.iter().any(|function| function.name == name);
        let mut mistakes: Vec<String> = spec.event_sources.iter().flat_map(EventSourceSpec::mistakes).collect();
        mistakes.extend(spec.functions.iter().flat_map(FunctionSpec::mistakes));
        let triggers = spec.event_sources.iter().map(|source| &source.function);
        for name in triggers.chain(spec.schedules.iter().map(|schedule| &schedule.function)) {
            if !known(name) {
                mistakes.push(format!("there is no function {name} to invoke"));
            }
        }
        anyhow::ensure!(mistakes.is_empty(), "{}", mistakes.join("; "));
        Ok(spec)
    }

    /// A function, to change its spec.
    pub fn function(&mut self, name: &str) -> Option<&mut FunctionSpec> {
        self.functions.iter_mut().find(|function| function.name == name)
    }

    /// The event source of a function, to change its spec.
    pub fn event_source(&mut self, function: &str) -> Option<&mut EventSourceSpec> {
        self.event_sources.iter_mut().find(|source| source.function == function)
    }

    /// The schedule of a function, to change its spec.
    pub fn schedule(&mut self, function: &str) -> Option<&mut ScheduleSpec> {
        self.schedules.iter_mut().find(|schedule| schedule.function == function)
    }
}

/// One function.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionSpec {
    /// Its name, which is also that of its binary.
    pub name: String,
    /// Memory in MB. The function gets it as a variable; it is not enforced.
    #[serde(default = "memory")]
    pub memory_mb: u32,
    /// How long an invocation may take, in whole milliseconds, up to 15 minutes.
    #[serde(rename = "timeout_ms", deserialize_with = "ms", default = "timeout")]
    pub timeout: Duration,
    /// How many invocations may run at once; without it, as many as the account has left.
    #[serde(default)]
    pub reserved_concurrency: Option<usize>,
    /// How many requests one invocation of a lane has under way, unless `delivery.concurrency` says otherwise.
    #[serde(default)]
    pub concurrency: Option<u32>,
    /// How often a failed asynchronous invocation is tried again: 0, 1 or 2.
    #[serde(default = "retries")]
    pub retries: u32,
    /// How old an asynchronous event may become before it is given up.
    #[serde(rename = "event_age_ms", deserialize_with = "ms", default = "event_age")]
    pub event_age: Duration,
    /// Variables of its own, which override those that all functions get.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
}

impl FunctionSpec {
    /// A function with AWS's defaults.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            memory_mb: memory(),
            timeout: timeout(),
            reserved_concurrency: None,
            concurrency: None,
            retries: retries(),
            event_age: event_age(),
            variables: BTreeMap::new(),
        }
    }

    fn mistakes(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        if self.timeout.is_zero() || self.timeout > Duration::from_mins(15) {
            mistakes.push(format!("{}: timeout_ms is above 0 and at most 900000", self.name));
        }
        if self.retries > 2 {
            mistakes.push(format!("{}: retries is 0, 1 or 2", self.name));
        }
        mistakes
    }
}

const fn memory() -> u32 {
    128
}

const fn timeout() -> Duration {
    Duration::from_secs(3)
}

const fn retries() -> u32 {
    2
}

const fn event_age() -> Duration {
    Duration::from_hours(6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_howk_fits_together() {
        let spec = StackSpec::howk().unwrap();
        let names: Vec<_> = spec.functions.iter().map(|function| function.name.as_str()).collect();
        assert_eq!(names, ["enqueue", "fast-lane", "slow-lane", "scheduler", "reconciler"]);
        assert!(spec.event_sources.iter().all(|source| source.retry.retries_max.is_none()), "howk loses nothing");
    }

    #[test]
    fn every_mistake_is_reported() {
        let text = r#"{"functions":[{"name":"a","timeout_ms":0,"retries":3}],
            "schedules":[{"function":"b"}],
            "event_sources":[{"function":"c","topic":"t","batch_size":0,"on_failure_topic":"t"}]}"#;
        let error = StackSpec::parse(text).unwrap_err().to_string();
        for part in
            ["a: timeout_ms", "a: retries", "no function b", "no function c", "batch_size", "on_failure_topic"]
        {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
