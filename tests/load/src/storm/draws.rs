//! Seeded draws for a simulation.

use domain::Entropy;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

/// A stream of numbers. The algorithm is named, so that a seed means the same in every version of its library.
#[derive(Debug)]
pub(crate) struct Draws(Xoshiro256PlusPlus);

impl Draws {
    /// The stream that `seed` begins.
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// The next number, for one decision.
    pub(crate) fn entropy(&mut self) -> Entropy {
        Entropy::new(self.0.next_u64())
    }
}
