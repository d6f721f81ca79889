//! The circuit of one endpoint: closed, open (= tripped) or half-open.
//!
//! `admit` reads it before a request, `settle`'s follow-up after one. The counters commute, so they are written without
//! reading them first. Only a change of state is a compare-and-set, made by the first delivery that finds it due (CB-1).

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::health::Health;
use crate::policy_error::{PolicyError, within};
use crate::tally::{Bucket, Tally, recent};
use crate::time::Timestamp;

/// The state of a circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Circuit {
    /// Requests are made. What happened before `since` no longer counts.
    Closed {
        /// When it closed; the epoch when it never opened.
        since: Timestamp,
    },
    /// No request is made.
    Open {
        /// When it tripped.
        since: Timestamp,
    },
    /// One request at a time is made, as a probe.
    HalfOpen {
        /// Probes that succeeded so far.
        successes: u32,
        /// When the probe that is under way counts as lost; `None` when none is.
        probe_until: Option<Timestamp>,
    },
}

impl Default for Circuit {
    fn default() -> Self {
        Self::Closed { since: Timestamp::EPOCH }
    }
}

/// When a circuit opens and closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CircuitPolicy {
    failure_threshold: u32,
    failure_window: Duration,
    recovery_timeout: Duration,
    success_threshold: u32,
}

/// What a circuit says to one webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CircuitAnswer {
    /// The request may be made.
    Pass,
    /// The request may be made as the probe, once this state is stored.
    Probe(Circuit),
    /// The request may not be made before this.
    Wait(Timestamp),
}

impl CircuitPolicy {
    /// How many failures may be needed to open a circuit.
    pub const FAILURE_THRESHOLD: RangeInclusive<u32> = 1..=1_000_000;
    /// What the window may be in which failures are counted.
    pub const FAILURE_WINDOW: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(24);
    /// How long an open circuit may stay open before its probe.
    pub const RECOVERY_TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_hours(24);
    /// How many successful probes may be needed to close a circuit.
    pub const SUCCESS_THRESHOLD: RangeInclusive<u32> = 1..=1_000;

    /// Builds a policy.
    ///
    /// Bounds: [`Self::FAILURE_THRESHOLD`], [`Self::FAILURE_WINDOW`], [`Self::RECOVERY_TIMEOUT`],
    /// [`Self::SUCCESS_THRESHOLD`].
    ///
    /// # Errors
    /// A [`PolicyError`] that names the field.
    pub fn new(
        failure_threshold: u32,
        failure_window: Duration,
        recovery_timeout: Duration,
        success_threshold: u32,
    ) -> Result<Self, PolicyError> {
        within("circuit_breaker.failure_threshold", &Self::FAILURE_THRESHOLD, &failure_threshold)?;
        within("circuit_breaker.success_threshold", &Self::SUCCESS_THRESHOLD, &success_threshold)?;
        within("circuit_breaker.failure_window", &Self::FAILURE_WINDOW, &failure_window)?;
        within("circuit_breaker.recovery_timeout", &Self::RECOVERY_TIMEOUT, &recovery_timeout)?;
        Ok(Self { failure_threshold, failure_window, recovery_timeout, success_threshold })
    }

    /// How many failures within the window open a circuit.
    pub const fn failure_threshold(&self) -> u32 {
        self.failure_threshold
    }

    /// How many successful probes close a circuit.
    pub const fn success_threshold(&self) -> u32 {
        self.success_threshold
    }

    /// The window that failures are counted in.
    pub const fn failure_window(&self) -> Duration {
        self.failure_window
    }

    /// How long an open circuit lets no request through.
    pub const fn recovery_timeout(&self) -> Duration {
        self.recovery_timeout
    }

    /// What was counted within the window since the circuit closed at `since`: the counts that open it.
    pub fn counted(&self, since: Timestamp, buckets: &[Bucket], now: Timestamp) -> Tally {
        recent(buckets, self.failure_window, since, now)
    }

    /// What a circuit says at `now` to a request whose claim would end at `probe_until`.
    pub fn answer(&self, circuit: Circuit, now: Timestamp, probe_until: Timestamp) -> CircuitAnswer {
        let probe = |successes| CircuitAnswer::Probe(Circuit::HalfOpen { successes, probe_until: Some(probe_until) });
        match circuit {
            Circuit::Closed { .. } => CircuitAnswer::Pass,
            Circuit::Open { since } => {
                let recovers_at = since.plus(self.recovery_timeout);
                if now < recovers_at { CircuitAnswer::Wait(recovers_at) } else { probe(0) }
            }
            Circuit::HalfOpen { probe_until: Some(until), .. } if now < until => CircuitAnswer::Wait(until),
            Circuit::HalfOpen { successes, .. } => probe(successes),
        }
    }

    /// The state that follows from a finished probe; `None` when the circuit is not half-open.
    pub fn after_probe(&self, circuit: Circuit, health: Health, now: Timestamp) -> Option<Circuit> {
        let Circuit::HalfOpen { successes, .. } = circuit else {
            return None;
        };
        Some(match health {
            Health::Good if successes.saturating_add(1) >= self.success_threshold => Circuit::Closed { since: now },
            Health::Good => Circuit::HalfOpen { successes: successes.saturating_add(1), probe_until: None },
            Health::Neutral => Circuit::HalfOpen { successes, probe_until: None },
            Health::Bad => Circuit::Open { since: now },
        })
    }

    /// The state that follows from what was counted: a closed circuit opens once failures within the window reach the
    /// threshold and outnumber the successes. A busy endpoint with a few errors stays closed.
    pub fn after_count(&self, circuit: Circuit, buckets: &[Bucket], now: Timestamp) -> Option<Circuit> {
        let Circuit::Closed { since } = circuit else {
            return None;
        };
        let Tally { failures, successes, .. } = self.counted(since, buckets, now);
        (failures >= self.failure_threshold && failures > successes).then_some(Circuit::Open { since: now })
    }
}

impl Default for CircuitPolicy {
    fn default() -> Self {
        Self {
            failure_threshold: 5,
            failure_window: Duration::from_mins(1),
            recovery_timeout: Duration::from_mins(5),
            success_threshold: 2,
        }
    }
}

#[cfg(test)]
mod tests;
