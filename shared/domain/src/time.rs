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
