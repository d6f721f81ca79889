//! What many deliveries count about one endpoint at once: counters in time buckets, which commute.
//!
//! A success of an endpoint without recent trouble writes nothing, so a healthy endpoint costs no memory.

use std::time::Duration;

use crate::time::Timestamp;

/// A window is counted in this many buckets.
pub const BUCKETS_PER_WINDOW: u32 = 6;

/// What one outcome adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Outcomes that speak against the endpoint's health.
    pub failures: u32,
    /// Outcomes that speak for it.
    pub successes: u32,
    /// Requests that outlasted the fast lane's timeout.
    pub slow: u32,
}

impl Tally {
    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            failures: self.failures.saturating_add(other.failures),
            successes: self.successes.saturating_add(other.successes),
            slow: self.slow.saturating_add(other.slow),
        }
    }

    /// Whether it speaks of nothing but success.
    pub const fn is_all_well(self) -> bool {
        self.failures == 0 && self.slow == 0
    }

    /// Whether there is nothing to write.
    pub const fn is_empty(self) -> bool {
        self.failures == 0 && self.successes == 0 && self.slow == 0
    }
}

/// The tally of one stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// When the stretch begins.
    pub start: Timestamp,
    /// What happened in it.
    pub tally: Tally,
}

/// The start of the bucket that `now` falls into; buckets are a sixth of `window`, at least 1 ms.
pub fn bucket_start(now: Timestamp, window: Duration) -> Timestamp {
    let width = bucket_width_ms(window);
    Timestamp::from_ms(now.as_ms() / width * width)
}

/// The sum of what happened within `window` before `now`, leaving out what began before `since`.
pub fn recent(buckets: &[Bucket], window: Duration, since: Timestamp, now: Timestamp) -> Tally {
    let oldest = bucket_start(now.minus(window), window).max(since);
    buckets
        .iter()
        .filter(|bucket| bucket.start >= oldest && bucket.start <= now)
        .fold(Tally::default(), |sum, bucket| sum.plus(bucket.tally))
}

fn bucket_width_ms(window: Duration) -> u64 {
    u64::try_from((window / BUCKETS_PER_WINDOW).as_millis()).unwrap_or(u64::MAX).max(1)
}
