//! Port `random` for tests: seeded, so that a failing run can be repeated.

use std::sync::atomic::{AtomicU64, Ordering};

use delivery::ports::time::Random;

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Scrambles a number: the output function of `SplitMix64`. A bijection.
pub const fn scramble(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// A `SplitMix64` generator: the same seed gives the same numbers in the same order. Not for secrets.
#[derive(Debug)]
pub struct SeededRandom {
    state: AtomicU64,
}

impl SeededRandom {
    /// A generator that begins at `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }

    /// The next 64 bits.
    pub fn next(&self) -> u64 {
        scramble(self.state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP))
    }

    /// A number below `bound`, or 0 when that is 0.
    pub fn below(&self, bound: u64) -> u64 {
        let wide = u128::from(self.next()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or_default()
    }

    /// One of `choices`; `None` when there is none.
    pub fn pick<'a, T>(&self, choices: &'a [T]) -> Option<&'a T> {
        choices.get(self.index(choices.len()))
    }

    /// Puts items into a random order, every order equally likely.
    pub fn shuffle<T>(&self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }

    fn index(&self, bound: usize) -> usize {
        usize::try_from(self.below(u64::try_from(bound).unwrap_or_default())).unwrap_or_default()
    }
}

impl Random for SeededRandom {
    fn bits(&self) -> u128 {
        (u128::from(self.next()) << 64) | u128::from(self.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let (a, b, other) = (SeededRandom::new(7), SeededRandom::new(7), SeededRandom::new(8));
        let draw = |random: &SeededRandom| (0..100).map(|_| random.bits()).collect::<Vec<_>>();
        let first = draw(&a);
        assert_eq!(first, draw(&b));
        assert_ne!(first, draw(&other));
    }

    #[test]
    fn draws_stay_below_their_bound_and_reach_every_number() {
        let random = SeededRandom::new(1);
        let seen: std::collections::BTreeSet<_> = (0..1000).map(|_| random.below(10)).collect();
        assert_eq!(seen, (0..10).collect());
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<_> = (0..50).collect();
        SeededRandom::new(3).shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }
}
