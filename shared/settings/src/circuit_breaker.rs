//! Settings of the circuit of an endpoint.

use std::time::Duration;

use crate::kinds::{Kind, Named, days, mins, ms, one_of, secs, span, whole};

section! {
    /// When an endpoint is left alone, and when it is tried again.
    "circuit_breaker." CircuitBreaker {
        /// How many failures inside the window open the circuit.
        failure_threshold: u32 = whole(1..=1_000_000).or(5);
        /// The window in which failures are counted.
        failure_window: Duration = span(secs(1)..=days(1)).or(secs(60));
        /// How long an open circuit stays open before a probe is sent.
        recovery_timeout: Duration = span(ms(100)..=days(1)).or(mins(5));
        /// The original's pause between the probes of a half-open circuit; without effect here, where the next probe
        /// follows when one ended well.
        probe_interval: Duration = span(ms(100)..=days(1)).or(secs(60));
        /// How many successful probes close the circuit.
        success_threshold: u32 = whole(1..=1_000).or(2);
        /// What happens when the circuit's state cannot be read: closed hands the webhooks back (fail
        /// closed), open sends them anyway (fail open).
        on_store_failure: OnStoreFailure = one_of().or(OnStoreFailure::Closed);
    }
}

/// What happens when the state of a circuit cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnStoreFailure {
    /// Fail closed: nothing is sent, the webhooks are handed back.
    Closed,
    /// Fail open: webhooks are sent as if the circuit were fine.
    Open,
}

impl Named for OnStoreFailure {
    const NAMES: &'static [(&'static str, Self)] = &[("closed", Self::Closed), ("open", Self::Open)];
}
