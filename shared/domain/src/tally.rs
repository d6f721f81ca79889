//! What many deliveries count about one endpoint: counters in time buckets. Additions commute, so deliveries that end at
//! the same time need not read each other's counts.
//!
//! A success of an endpoint without recent failures writes nothing, so a healthy endpoint costs no memory.

use std::time::Duration;

use crate::time::Timestamp;

/// A window is counted in this many buckets. Whole buckets fall out of the window, so it is a sixth longer than asked at
/// most; more buckets would be more precise and cost a field each in every unhealthy endpoint's state.
pub const BUCKETS_PER_WINDOW: u32 = 6;

/// What one outcome adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Requests that failed.
    pub failures: u32,
    /// Requests whose answer shows that the endpoint can take work.
    pub successes: u32,
    /// Requests that outlasted the fast lane's timeout.
    pub slow: u32,
}

impl Tally {
    /// The sum.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            failures: self.failures.saturating_add(other.failures),
            successes: self.successes.saturating_add(other.successes),
            slow: self.slow.saturating_add(other.slow),
        }
    }

    /// Whether it counts successes at most.
    pub const fn counts_no_failure(self) -> bool {
        self.failures == 0 && self.slow == 0
    }

    /// Whether there is nothing to write.
    pub const fn is_empty(self) -> bool {
        self.failures == 0 && self.successes == 0 && self.slow == 0
    }
}

/// The tally of one bucket of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// When the bucket begins.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MINUTE: Duration = Duration::from_mins(1);

    const fn at(ms: u64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    fn failures(start: u64, failures: u32) -> Bucket {
        Bucket { start: at(start), tally: Tally { failures, ..Tally::default() } }
    }

    #[test]
    fn a_bucket_is_a_sixth_of_the_window_and_a_millisecond_at_least() {
        for (now, window, start) in [
            (0, MINUTE, 0),
            (9_999, MINUTE, 0),
            (10_000, MINUTE, 10_000),
            (1_234_567, MINUTE, 1_230_000),
            (1_234_567, Duration::from_millis(6), 1_234_567),
            (1_234_567, Duration::from_millis(1), 1_234_567),
            (1_234_567, Duration::ZERO, 1_234_567),
            (1_234_567, Duration::MAX, 0),
        ] {
            assert_eq!(bucket_start(at(now), window), at(start), "{now} {window:?}");
        }
    }

    #[test]
    fn recent_is_what_began_in_the_window_after_since_and_not_after_now() {
        let buckets = [failures(0, 1), failures(30_000, 10), failures(40_000, 100), failures(90_000, 1000)];
        for (since, now, sum) in [
            (0, 95_000, 1_110),
            (0, 100_000, 1_100),
            (0, 80_000, 110),
            (30_001, 95_000, 1_100),
            (95_000, 95_000, 0),
            (0, 0, 1),
            (0, 10_000_000, 0),
        ] {
            assert_eq!(recent(&buckets, MINUTE, at(since), at(now)).failures, sum, "since {since}, at {now}");
        }
    }

    #[test]
    fn a_tally_knows_whether_it_is_empty_and_whether_anything_failed() {
        let tally = |failures, successes, slow| Tally { failures, successes, slow };
        for (tally, no_failure, empty) in [
            (tally(0, 0, 0), true, true),
            (tally(0, 1, 0), true, false),
            (tally(1, 0, 0), false, false),
            (tally(0, 5, 1), false, false),
        ] {
            assert_eq!((tally.counts_no_failure(), tally.is_empty()), (no_failure, empty), "{tally:?}");
        }
    }

    fn any_tally() -> impl Strategy<Value = Tally> {
        any::<(u32, u32, u32)>().prop_map(|(failures, successes, slow)| Tally { failures, successes, slow })
    }

    proptest! {
        #[test]
        fn adding_commutes_and_never_overflows(a in any_tally(), b in any_tally(), c in any_tally()) {
            prop_assert_eq!(a.plus(b), b.plus(a));
            prop_assert_eq!(a.plus(b).plus(c), a.plus(b.plus(c)));
            prop_assert_eq!(a.plus(Tally::default()), a);
        }

        #[test]
        fn what_happened_just_now_is_recent(now: u64, window_ms in 1_u64..100_000_000) {
            let window = Duration::from_millis(window_ms);
            let bucket = Bucket { start: bucket_start(at(now), window), ..failures(0, 1) };
            prop_assert_eq!(recent(&[bucket], window, Timestamp::EPOCH, at(now)).failures, 1);
        }
    }
}
