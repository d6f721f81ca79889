//! The jittered release window: how the webhooks of a cooldown are spread once the endpoint takes work again.

use std::ops::RangeInclusive;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::cooldown::{Cooldown, RETRY_AFTER_MAX};
use crate::id::ConfigId;
use crate::policy_error::{PolicyError, within};
use crate::time::Timestamp;

/// How far apart two cohorts begin: long enough for an endpoint to show whether it can take the cohort before.
pub const COHORT_STEP: Duration = Duration::from_secs(10);
/// The shortest window: a `Retry-After` of 0 or 1 s must still be spread.
const WINDOW_MIN: Duration = Duration::from_secs(1);

/// How a cooldown's webhooks are spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReleasePolicy {
    window: f64,
    cohorts: u32,
}

impl ReleasePolicy {
    /// What the end of the window may be, as a factor of the asked delay.
    pub const WINDOW: RangeInclusive<f64> = 1.0..=10.0;
    /// How many cohorts there may be.
    pub const COHORTS: RangeInclusive<u32> = 0..=1_000;

    /// Builds a policy: the window ends at `window` times the delay that the endpoint asked for; `cohorts` of 0 or 1 mean one cohort.
    ///
    /// Bounds: [`Self::WINDOW`], [`Self::COHORTS`].
    ///
    /// # Errors
    /// A [`PolicyError`] that names the field.
    pub fn new(window: f64, cohorts: u32) -> Result<Self, PolicyError> {
        within("retry.release_window", &Self::WINDOW, &window)?;
        within("retry.cohorts", &Self::COHORTS, &cohorts)?;
        Ok(Self { window, cohorts })
    }

    /// The end of the window, as a factor of the asked delay.
    pub const fn window(&self) -> f64 {
        self.window
    }

    /// How many cohorts there are; 0 or 1 mean one.
    pub const fn cohorts(&self) -> u32 {
        self.cohorts
    }

    /// The cooldown that an endpoint's `Retry-After` of `asked` sets, counted from `now`.
    pub fn cooldown(&self, asked: Duration, now: Timestamp) -> Cooldown {
        let asked = asked.min(RETRY_AFTER_MAX);
        let width = asked.mul_f64(self.window - 1.0).max(WINDOW_MIN);
        let ends_at = now.plus(asked);
        Cooldown::new(ends_at, ends_at.plus(width))
    }

    /// How long after the first cohort this tenant's cohort begins.
    pub fn cohort_delay(&self, config: &ConfigId) -> Duration {
        if self.cohorts < 2 {
            return Duration::ZERO;
        }
        let digest = Sha256::digest(config.as_str().as_bytes());
        let bits = digest.iter().take(4).fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte));
        COHORT_STEP.saturating_mul(bits % self.cohorts)
    }
}

impl Default for ReleasePolicy {
    fn default() -> Self {
        Self { window: 1.5, cohorts: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::Entropy;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rt_1_a_release_is_never_before_retry_after_nor_beyond_the_window(
            asked in 0_u64..10_000_000, now in 0_u64..1_u64 << 41, bits: u64, late in 0_u64..20_000_000
        ) {
            let policy = ReleasePolicy::default();
            let now = Timestamp::from_ms(now);
            let cooldown = policy.cooldown(Duration::from_millis(asked), now);
            let seen = now.plus(Duration::from_millis(late));
            let at = cooldown.release_at(seen, Entropy::new(bits));
            prop_assert!(at >= now.plus(Duration::from_millis(asked)) && at >= seen);
            prop_assert!(at <= cooldown.window_end.max(seen));
        }
    }

    #[test]
    fn an_absurd_retry_after_counts_as_seven_days() {
        let cooldown = ReleasePolicy::default().cooldown(Duration::from_secs(u64::MAX), Timestamp::EPOCH);
        assert_eq!(cooldown.ends_at, Timestamp::EPOCH.plus(RETRY_AFTER_MAX));
    }

    #[test]
    fn cohorts_start_ten_seconds_apart_and_keep_to_their_tenant() {
        let policy = ReleasePolicy::new(1.5, 3).unwrap();
        let delays: std::collections::BTreeSet<_> = (0..100)
            .map(|tenant| policy.cohort_delay(&ConfigId::parse(&format!("t{tenant}")).unwrap()).as_secs())
            .collect();
        assert_eq!(delays.into_iter().collect::<Vec<_>>(), [0, 10, 20]);
    }
}
