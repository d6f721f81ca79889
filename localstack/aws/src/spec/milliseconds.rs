//! Spans of time as the list has them: whole milliseconds.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

/// Reads whole milliseconds.
pub(super) fn ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_millis)
}

/// Reads whole milliseconds; null means without end.
pub(super) fn ms_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    Option::<u64>::deserialize(deserializer).map(|span| span.map(Duration::from_millis))
}
