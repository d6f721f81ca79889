//! Points in time, as a plain number that every caller passes in.
//!
//! Nothing here reads a clock: `delivery`'s clock port does, once, at the edge.

use std::time::Duration;

/// A point in time.
///
/// Units: milliseconds since the Unix epoch. Arithmetic saturates at both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The Unix epoch.
    pub const EPOCH: Self = Self(0);
    /// The last millisecond of the year 9999: RFC 3339 has four digits for the year and writes no later time.
    pub const RFC3339_MAX: Self = Self(253_402_300_799_999);

    /// Wraps milliseconds since the Unix epoch.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// Whole seconds since the Unix epoch, rounded down.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1000
    }

    /// This point moved later by `delay`, whole milliseconds, rounded up so that a floor stays a floor.
    #[must_use]
    pub fn plus(self, delay: Duration) -> Self {
        let ms = u64::try_from(delay.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(ms))
    }

    /// This point moved earlier by `delay`.
    #[must_use]
    pub fn minus(self, delay: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)))
    }

    /// Time passed since `earlier`; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_and_floors_stay_floors() {
        let at = Timestamp::from_ms;
        let nanosecond = Duration::from_nanos(1);
        assert_eq!(at(5).plus(Duration::from_millis(2)), at(7));
        assert_eq!(at(5).plus(nanosecond), at(6), "rounded up");
        assert_eq!(at(5).plus(Duration::ZERO), at(5));
        assert_eq!(at(u64::MAX).plus(nanosecond), at(u64::MAX));
        assert_eq!(at(5).plus(Duration::MAX), at(u64::MAX));
        assert_eq!(at(5).minus(Duration::from_millis(2)), at(3));
        assert_eq!(at(5).minus(Duration::MAX), Timestamp::EPOCH);
        assert_eq!(at(5).since(at(3)), Duration::from_millis(2));
        assert_eq!(at(3).since(at(5)), Duration::ZERO);
        assert_eq!((at(1_999).as_secs(), at(2_000).as_secs()), (1, 2));
    }
}
