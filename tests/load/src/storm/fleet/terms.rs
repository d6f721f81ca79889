//! What every part of the scenario counts with.

use std::time::Duration;

/// What the limiter asks of whom it refuses.
pub(crate) const RETRY_AFTER: Duration = Duration::from_mins(1);
/// How far apart a client's requests are, on average.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);
/// The bin: as wide as the window in which ±5 % of jitter brings everything back.
pub(crate) const BIN: Duration = Duration::from_secs(6);
