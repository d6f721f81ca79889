//! Lengths of time: `10s`, `5m`, `24h`, `7d`, `500ms`, or a bare `0`.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::Value;

use super::{Kind, Parsed, plain, problem, quoted};

/// A length of time, with its bounds.
#[derive(Debug)]
pub(crate) struct Span(RangeInclusive<Duration>);

/// A length of time within bounds.
pub(crate) fn span(bounds: RangeInclusive<Duration>) -> Span {
    Span(bounds)
}

/// Milliseconds.
pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Seconds.
pub(crate) const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Minutes.
pub(crate) const fn mins(count: u64) -> Duration {
    secs(count.saturating_mul(60))
}

/// Hours.
pub(crate) const fn hours(count: u64) -> Duration {
    mins(count.saturating_mul(60))
}

/// Days.
pub(crate) const fn days(count: u64) -> Duration {
    hours(count.saturating_mul(24))
}

impl Kind for Span {
    type Value = Duration;

    fn allowed(&self) -> String {
        format!("a duration between {} and {}", written(*self.0.start()), written(*self.0.end()))
    }

    fn parse(&self, raw: &Value) -> Parsed<Duration> {
        let text = match raw {
            Value::String(_) | Value::Number(_) => plain(raw),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => String::new(),
        };
        let text = text.trim();
        if text != "0" && text.parse::<f64>().is_ok_and(f64::is_finite) {
            return problem(format!("{} has no unit: write {text}s, or ms, m, h or d", quoted(raw)));
        }
        let Ok(value) = humantime::parse_duration(text) else {
            return problem(format!("{} is not {}, such as 10s or 5m", quoted(raw), self.allowed()));
        };
        if !self.0.contains(&value) {
            let (least, most) = (written(*self.0.start()), written(*self.0.end()));
            return problem(format!("{} is not between {least} and {most}", quoted(raw)));
        }
        Ok(value)
    }

    fn show(&self, value: &Duration) -> Value {
        Value::String(written(*value))
    }
}

/// A duration in the largest unit that divides it.
pub(crate) fn written(value: Duration) -> String {
    const UNITS: [(u128, &str); 6] = [
        (86_400_000_000_000, "d"),
        (3_600_000_000_000, "h"),
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
    ];
    let nanos = value.as_nanos();
    if nanos == 0 {
        return "0".to_owned();
    }
    let unit = UNITS.iter().find(|(size, _)| nanos.is_multiple_of(*size));
    unit.map_or_else(|| format!("{nanos}ns"), |(size, name)| format!("{}{name}", nanos / size))
}
