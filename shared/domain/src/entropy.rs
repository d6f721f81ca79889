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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_ends_are_drawn_and_an_empty_range_is_its_beginning() {
        let ends = |low, high| [0, u64::MAX].map(|bits| Entropy::new(bits).between(low, high));
        assert_eq!(ends(10, 20), [10, 20]);
        assert_eq!(ends(7, 7), [7, 7]);
        assert_eq!(ends(20, 10), [20, 20]);
        assert_eq!(ends(0, u64::MAX), [0, u64::MAX]);
        assert_eq!(ends(u64::MAX, u64::MAX), [u64::MAX; 2]);
        assert_eq!(Entropy::new(1 << 63).between(0, 9), 5);
    }

    #[test]
    fn every_number_is_as_likely_as_any_other() {
        let draw = |step: u64| Entropy::new(step.wrapping_mul(u64::MAX / 1000)).between(0, 9);
        for number in 0..10 {
            let hits = (0..1000).filter(|step| draw(*step) == number).count();
            assert!((99..=101).contains(&hits), "{number}: {hits}");
        }
    }

    proptest! {
        #[test]
        fn stays_within_its_range(bits: u64, low: u64, width: u64) {
            let high = low.saturating_add(width);
            let (from, until) = (Timestamp::from_ms(low), Timestamp::from_ms(high));
            prop_assert!((low..=high).contains(&Entropy::new(bits).between(low, high)));
            prop_assert!((from..=until).contains(&Entropy::new(bits).moment(from, until)));
        }
    }
}
