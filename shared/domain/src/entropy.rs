//! One drawn number, passed into a decision so that jitter can be tested.

use crate::time::Timestamp;

/// 64 bits from a cryptographically secure generator, drawn by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entropy(u64);

impl Entropy {
    /// Wraps a drawn number.
    pub const fn new(bits: u64) -> Self {
        Self(bits)
    }

    /// A whole number drawn uniformly from `low..=high`; `low` when the range is empty.
    pub fn between(self, low: u64, high: u64) -> u64 {
        let width = u128::from(high.saturating_sub(low)) + 1;
        let offset = (u128::from(self.0) * width) >> 64;
        low.saturating_add(u64::try_from(offset).unwrap_or(u64::MAX))
    }

    /// A point in time drawn uniformly from `from..=until`; `from` when the range is empty.
    pub fn moment(self, from: Timestamp, until: Timestamp) -> Timestamp {
        Timestamp::from_ms(self.between(from.as_ms(), until.as_ms()))
    }
}
