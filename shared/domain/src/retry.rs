//! When a failed attempt is repeated.
//!
//! `settle` calls it. It knows nothing of cooldowns: a `Retry-After` is a floor that `settle` lays under this (RT-1).

use std::time::Duration;

use crate::entropy::Entropy;
use crate::policy_error::{PolicyError, broken};

/// Doublings stop after this many: the delay of attempt 11 and later is the same before the cap. Source: the original.
const DOUBLINGS_MAX: u32 = 10;
/// The longest delay that a policy may name. It only catches a wrong unit; the log keeps no record that long.
const DELAY_MAX: Duration = Duration::from_hours(720);

/// Exponential backoff with jitter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    base_delay: Duration,
    max_delay: Duration,
    jitter: f64,
}

impl RetryPolicy {
    /// Builds a policy.
    ///
    /// Bounds: `1 ms <= base_delay <= max_delay <= 30 days`, `0 <= jitter <= 1`.
    ///
    /// # Errors
    /// A [`PolicyError`] that names the field.
    pub fn new(base_delay: Duration, max_delay: Duration, jitter: f64) -> Result<Self, PolicyError> {
        (base_delay >= Duration::from_millis(1))
            .then_some(())
            .ok_or(broken("retry.base_delay", "must be at least 1ms"))?;
        (base_delay <= max_delay)
            .then_some(())
            .ok_or(broken("retry.base_delay", "must not exceed retry.max_delay"))?;
        (max_delay <= DELAY_MAX).then_some(()).ok_or(broken("retry.max_delay", "must not exceed 30d"))?;
        (0.0..=1.0).contains(&jitter).then_some(()).ok_or(broken("retry.jitter", "must be between 0 and 1"))?;
        Ok(Self { base_delay, max_delay, jitter })
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
        assert!(RetryPolicy::new(second, DELAY_MAX + second, 0.2).is_err());
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
            let policy = RetryPolicy::new(Duration::from_millis(base), DELAY_MAX, 0.0).unwrap();
            prop_assert!(policy.bounds(attempt).0 <= policy.bounds(attempt + 1).0);
        }
    }
}
