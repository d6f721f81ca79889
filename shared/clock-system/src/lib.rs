//! Ports `clock` and `random` on the operating system.
//!
//! The only code in howk that reads a clock, so that all other code can be tested with time as an argument.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use delivery::ports::time::{Clock, Random};
use domain::Timestamp;

/// The wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "this is the port that reads the clock")]
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_ms(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// A cryptographically secure generator (`ChaCha`) that the operating system seeds, one for each thread.
///
/// A draw costs no system call, since every delivery draws.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn bits(&self) -> u128 {
        rand::random()
    }
}
