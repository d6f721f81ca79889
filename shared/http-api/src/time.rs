//! Points in time as text for callers: RFC 3339, written in UTC, read with any offset.

use std::time::{Duration, UNIX_EPOCH};

use domain::Timestamp;

/// Writes a point in time in UTC with milliseconds: `2026-01-31T23:59:59.250Z`. A later time than
/// the year 9999 is written as the end of that year.
pub(crate) fn write(at: Timestamp) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(at.min(Timestamp::RFC3339_MAX).as_ms()))
        .to_string()
}

/// Reads an RFC 3339 date and time that is not before 1970 in its own offset; finer than milliseconds rounded down.
///
/// A space before the offset counts as `+`: that is what a `+` in a query string turns into.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    let (local, offset_ms) = match text.strip_suffix(['Z', 'z']) {
        Some(local) => (local, 0),
        None => offset(text)?,
    };
    let (date, time) = local.split_once(['T', 't'])?;
    if !time.ends_with(|last: char| last.is_ascii_digit()) {
        return None;
    }
    let since = humantime::parse_rfc3339(&format!("{date}T{time}Z")).ok()?.duration_since(UNIX_EPOCH).ok()?;
    let ms = i64::try_from(since.as_millis()).ok()?.checked_sub(offset_ms)?;
    Some(Timestamp::from_ms(u64::try_from(ms).unwrap_or(0)))
}

/// Splits `+01:00` off the end; the offset in milliseconds.
fn offset(text: &str) -> Option<(&str, i64)> {
    let (local, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let number = |digits: &str, below: i64| {
        let is_number = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<i64>().ok().filter(|number| is_number && *number < below)
    };
    let ms = (number(hours, 24)? * 60 + number(minutes, 60)?) * 60_000;
    match offset.chars().next()? {
        '+' | ' ' => Some((local, ms)),
        '-' => Some((local, -ms)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_and_reads_known_times() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_123, "2000-02-29T00:00:00.123Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (Timestamp::RFC3339_MAX.as_ms(), "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(write(Timestamp::from_ms(ms)), text);
            assert_eq!(parse(text), Some(Timestamp::from_ms(ms)), "{text}");
        }
        assert_eq!(write(Timestamp::from_ms(u64::MAX)), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn reads_offsets_and_fractions() {
        for (text, ms) in [
            ("1970-01-01T01:00:00+01:00", 0),
            ("1970-01-01T01:00:00 01:00", 0),
            ("1970-01-01T00:00:00+01:00", 0),
            ("1970-01-01T00:00:00-01:30", 5_400_000),
            ("1970-01-01t00:00:01.5z", 1500),
            ("1970-01-01T00:00:00.123456789Z", 123),
        ] {
            assert_eq!(parse(text), Some(Timestamp::from_ms(ms)), "{text}");
        }
    }

    #[test]
    fn refuses_other_texts() {
        for text in [
            "",
            "now",
            "0",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-13-01T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00ZZ",
            "2026-01-01T00:00:00Zx",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00+0100",
            "2026-01-01T00:00:00+\u{e9}1:00",
            "+026-01-01T00:00:00Z",
            "2026-01-0\u{e9}T00:00:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
