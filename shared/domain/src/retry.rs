//! When a failed attempt is repeated.
//!
//! `settle` calls it. It knows nothing of cooldowns: a `Retry-After` is a floor that `settle` lays under this (RT-1).

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::entropy::Entropy;
use crate::policy_error::{PolicyError, broken, within};

/// Doublings stop after this many: the delay of attempt 11 and later is the same before the cap. Source: the original.
const DOUBLINGS_MAX: u32 = 10;

/// Exponential backoff with jitter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    base_delay: Duration,
    max_delay: Duration,
    jitter: f64,
}

impl RetryPolicy {
    /// What the delay after the first failed attempt may be.
    pub const BASE_DELAY: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_hours(24);
    /// What the longest delay may be: seven days at most, as long as a webhook's record is kept by default.
    pub const MAX_DELAY: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_hours(7 * 24);
    /// What the jitter may be, as a part of the delay.
    pub const JITTER: RangeInclusive<f64> = 0.0..=1.0;

    /// Builds a policy.
    ///
    /// Bounds: [`Self::BASE_DELAY`], [`Self::MAX_DELAY`], [`Self::JITTER`], and `base_delay <= max_delay`.
    ///
    /// # Errors
    /// A [`PolicyError`] that names the field.
    pub fn new(base_delay: Duration, max_delay: Duration, jitter: f64) -> Result<Self, PolicyError> {
        within("retry.base_delay", &Self::BASE_DELAY, &base_delay)?;
        within("retry.max_delay", &Self::MAX_DELAY, &max_delay)?;
        if base_delay > max_delay {
            return Err(broken("retry.base_delay", "must not be longer than retry.max_delay"));
        }
        within("retry.jitter", &Self::JITTER, &jitter)?;
        Ok(Self { base_delay, max_delay, jitter })
    }

    /// The delay after the first failed attempt.
    pub const fn base_delay(&self) -> Duration {
        self.base_delay
    }

    /// The longest delay.
    pub const fn max_delay(&self) -> Duration {
        self.max_delay
    }

    /// How far a delay may differ, as a part of it.
    pub const fn jitter(&self) -> f64 {
        self.jitter
    }

    /// The delay after attempt number `attempt` failed.
    ///
    /// `base * 2^min(attempt - 1, 10)`, spread evenly over plus and minus `jitter`, then capped: jitter never exceeds
    /// the cap.
    pub fn delay(&self, attempt: u32, entropy: Entropy) -> Duration {
        let (low, high) = self.bounds(attempt);
        let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(entropy.between(nanos(low), nanos(high))).min(self.max_delay)
    }

    /// The shortest and the longest delay after attempt number `attempt`.
    pub fn bounds(&self, attempt: u32) -> (Duration, Duration) {
        let doublings = attempt.saturating_sub(1).min(DOUBLINGS_MAX);
        let middle = self.base_delay.saturating_mul(1 << doublings);
        let low = middle.mul_f64(1.0 - self.jitter).min(self.max_delay);
        (low, middle.mul_f64(1.0 + self.jitter).min(self.max_delay))
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { base_delay: Duration::from_secs(10), max_delay: Duration::from_hours(24), jitter: 0.2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn doubles_from_the_base_and_stops_at_the_tenth_doubling() {
        let policy = RetryPolicy::new(Duration::from_secs(10), Duration::from_hours(24), 0.0).unwrap();
        let delay = |attempt| policy.delay(attempt, Entropy::new(7)).as_secs();
        assert_eq!(
            [delay(1), delay(2), delay(3), delay(11), delay(12), delay(99)],
            [10, 20, 40, 10_240, 10_240, 10_240]
        );
    }

    #[test]
    fn refuses_numbers_that_make_no_sense() {
        let second = Duration::from_secs(1);
        assert!(RetryPolicy::new(Duration::ZERO, second, 0.2).is_err());
        assert!(RetryPolicy::new(2 * second, second, 0.2).is_err());
        assert!(RetryPolicy::new(second, second, 1.1).is_err());
        assert!(RetryPolicy::new(second, second, f64::NAN).is_err());
        assert!(RetryPolicy::new(second, *RetryPolicy::MAX_DELAY.end() + second, 0.2).is_err());
    }

    proptest! {
        #[test]
        fn stays_within_its_bounds_and_under_the_cap(
            base in 1_u64..100_000, factor in 1_u64..100, jitter in 0.0_f64..=1.0, attempt in 1_u32..200, bits: u64
        ) {
            let max = Duration::from_millis(base * factor);
            let policy = RetryPolicy::new(Duration::from_millis(base), max, jitter).unwrap();
            let delay = policy.delay(attempt, Entropy::new(bits));
            let (low, high) = policy.bounds(attempt);
            prop_assert!(low <= delay && delay <= high && delay <= max);
        }

        #[test]
        fn never_shrinks_from_attempt_to_attempt_before_jitter(base in 1_u64..100_000, attempt in 1_u32..100) {
            let policy = RetryPolicy::new(Duration::from_millis(base), *RetryPolicy::MAX_DELAY.end(), 0.0).unwrap();
            prop_assert!(policy.bounds(attempt).0 <= policy.bounds(attempt + 1).0);
        }
    }
}
