//! Ports `clock` and `random`: the only sources of time and of randomness.

use std::time::Duration;

use async_trait::async_trait;
use domain::{Entropy, Timestamp};

/// Reads the time. The tests' clock is moved by hand.
#[async_trait]
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// Waits.
    async fn sleep(&self, duration: Duration);
}

/// Draws from a cryptographically secure generator.
pub trait Random: Send + Sync {
    /// 128 fresh bits.
    fn bits(&self) -> u128;

    /// The number for one decision.
    fn entropy(&self) -> Entropy {
        Entropy::new(u64::try_from(self.bits() >> 64).unwrap_or_default())
    }
}
