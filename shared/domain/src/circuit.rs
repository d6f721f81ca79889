//! The circuit of one endpoint: closed, open (= tripped) or half-open.
//!
//! `admit` asks it before a request, `settle`'s follow-up after one. Counters commute and are written blindly; only a
//! change of state is a compare-and-set, made by whoever sees first that it is due (CB-1).

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::policy_error::{PolicyError, within};
use crate::tally::{Bucket, Tally, recent};
use crate::time::Timestamp;

/// The state of a circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Circuit {
    /// Requests flow. What happened before `since` no longer counts.
    Closed {
        /// When it closed; the epoch when it never opened.
        since: Timestamp,
    },
    /// Nothing is sent.
    Open {
        /// When it tripped.
        since: Timestamp,
    },
    /// One probe at a time.
    HalfOpen {
        /// Probes that succeeded so far.
        successes: u32,
        /// A probe is under way and counts as lost after this.
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
    /// Go ahead.
    Pass,
    /// Be the probe, once this state is stored.
    Probe(Circuit),
    /// Not before this.
    Wait(Timestamp),
}

/// What a finished request says about the endpoint's health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It answered and can take work.
    Good,
    /// It failed.
    Bad,
    /// It asked for rest, which the cooldown takes care of, or was merely slower than the fast lane waits.
    Neutral,
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

    /// How long an open circuit rests.
    pub const fn recovery_timeout(&self) -> Duration {
        self.recovery_timeout
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

    /// The state that follows from a finished probe.
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
        let Tally { failures, successes, .. } = recent(buckets, self.failure_window, since, now);
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
#[path = "circuit/tests.rs"]
mod tests;
