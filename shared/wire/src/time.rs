//! Times in JSON: RFC 3339, UTC, milliseconds, as in `2026-01-31T23:59:59.123Z`.
//!
//! The original writes RFC 3339 too, so readers of the topics keep their parsers. Times beyond the year 9999 have no such
//! text and are written as its last millisecond.

use std::time::{Duration, UNIX_EPOCH};

use domain::Timestamp;
use serde::de::{Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A time as it stands in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Timestamp);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let time = UNIX_EPOCH + Duration::from_millis(self.0.min(Timestamp::RFC3339_MAX).as_ms());
        serializer.collect_str(&humantime::format_rfc3339_millis(time))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TimeVisitor)
    }
}

struct TimeVisitor;

impl Visitor<'_> for TimeVisitor {
    type Value = Time;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a time such as \"2026-01-31T23:59:59.123Z\", not before 1970")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Time, E> {
        let wrong = || E::invalid_value(Unexpected::Str(text), &self);
        let time = humantime::parse_rfc3339(text).map_err(|_| wrong())?;
        let since = time.duration_since(UNIX_EPOCH).map_err(|_| wrong())?;
        u64::try_from(since.as_millis()).map(|ms| Time(Timestamp::from_ms(ms))).map_err(|_| wrong())
    }
}
