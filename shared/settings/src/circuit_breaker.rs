//! Settings of the circuit of an endpoint.

use std::time::Duration;

use domain::{CircuitPolicy, OnStoreFailure};

use crate::kinds::{Kind, Named, one_of, span, whole};

section! {
    /// When nothing is sent to an endpoint because of its failures, and when it is tried again.
    "circuit_breaker." CircuitBreaker {
        /// How many failures inside the window open the circuit.
        failure_threshold: u32 = whole(CircuitPolicy::FAILURE_THRESHOLD).or(CircuitPolicy::default().failure_threshold());
        /// The window in which failures are counted.
        failure_window: Duration = span(CircuitPolicy::FAILURE_WINDOW).or(CircuitPolicy::default().failure_window());
        /// How long an open circuit stays open before a probe is sent.
        recovery_timeout: Duration = span(CircuitPolicy::RECOVERY_TIMEOUT).or(CircuitPolicy::default().recovery_timeout());
        /// How many successful probes close the circuit.
        success_threshold: u32 = whole(CircuitPolicy::SUCCESS_THRESHOLD).or(CircuitPolicy::default().success_threshold());
        /// What happens when the circuit's state cannot be read: `closed` sends nothing and lets the records come again (fail
        /// closed), `open` sends the webhooks anyway (fail open).
        on_store_failure: OnStoreFailure = one_of().or(OnStoreFailure::default());
    }
}

impl Named for OnStoreFailure {
    const NAMES: &'static [(&'static str, Self)] = &[("closed", Self::Closed), ("open", Self::Open)];
}
