//! `Retry-After` in all the spellings that receivers use.
//!
//! Called when an answer is read. It decides nothing: a value becomes a span of time, or none when it cannot be read.

use std::time::{Duration, UNIX_EPOCH};

use domain::{RETRY_AFTER_MAX, Timestamp};
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Reads how long the endpoint asks to get no requests: the longest of its values.
///
/// Shape: whole or fractional seconds, or an HTTP date, which is measured from `now`. Zero and past dates are zero.
/// Bounds: at most [`RETRY_AFTER_MAX`]; `None` for anything that is neither, a negative number included.
pub(crate) fn read(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let values = headers.get_all(RETRY_AFTER).iter().filter_map(|value| value.to_str().ok());
    values.filter_map(|text| span(text.trim(), now)).max().map(|longest| longest.min(RETRY_AFTER_MAX))
}

fn span(text: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(date) = httpdate::parse_http_date(text) {
        let date = date.duration_since(UNIX_EPOCH).unwrap_or_default();
        return Some(date.saturating_sub(Duration::from_millis(now.as_ms())));
    }
    // Proxies join repeated headers with commas.
    text.split(',').filter_map(|part| seconds(part.trim())).max()
}

fn seconds(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    // A number too long for u64 is still a number: it means "very long".
    let whole = whole.parse().unwrap_or(u64::MAX).min(RETRY_AFTER_MAX.as_secs());
    let nanos = fraction.bytes().chain(std::iter::repeat(b'0')).take(9);
    let nanos = nanos.fold(0_u32, |nanos, digit| nanos * 10 + u32::from(digit - b'0'));
    Some(Duration::new(whole, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    /// Sun, 06 Nov 1994 08:49:37 GMT.
    const NOW: Timestamp = Timestamp::from_ms(784_111_777_000);

    fn read_all(values: &[&[u8]]) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(RETRY_AFTER, HeaderValue::from_bytes(value).expect("a header value"));
        }
        read(&headers, NOW)
    }

    #[test]
    fn every_spelling() {
        let week = RETRY_AFTER_MAX.as_millis();
        let table: [(&str, Option<u128>); 28] = [
            ("120", Some(120_000)),
            (" 120 ", Some(120_000)),
            ("0", Some(0)),
            ("007", Some(7_000)),
            ("1.5", Some(1_500)),
            ("0.001", Some(1)),
            ("1.00000000000000000001", Some(1_000)),
            ("604800", Some(week)),
            ("604801", Some(week)),
            ("604800.9", Some(week)),
            ("99999999999999999999999999999999", Some(week)),
            ("Sun, 06 Nov 1994 08:51:37 GMT", Some(120_000)),
            ("Sunday, 06-Nov-94 08:51:37 GMT", Some(120_000)),
            ("Sun Nov  6 08:51:37 1994", Some(120_000)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Sat, 06 Nov 1993 08:49:37 GMT", Some(0)),
            ("Sun, 06 Nov 1993 08:49:37 GMT", None),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(week)),
            ("30, 120", Some(120_000)),
            ("-1", None),
            ("-0.5", None),
            ("+5", None),
            ("1e3", None),
            ("120s", None),
            (".5", None),
            ("5.", None),
            ("soon", None),
            ("", None),
        ];
        for (text, expected) in table {
            let expected = expected.map(|ms| Duration::from_millis(u64::try_from(ms).expect("small")));
            assert_eq!(read_all(&[text.as_bytes()]), expected, "{text:?}");
        }
    }

    #[test]
    fn the_longest_of_several_counts_and_unreadable_ones_do_not() {
        assert_eq!(read_all(&[b"5", b"120", b"30"]), Some(Duration::from_mins(2)));
        assert_eq!(read_all(&[b"soon", b"120", b"\xe9t\xe9"]), Some(Duration::from_mins(2)));
        assert_eq!(read_all(&[b"\xff"]), None);
        assert_eq!(read_all(&[]), None);
    }

    #[test]
    fn a_date_is_never_read_shorter_than_it_is() {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_static("Sun, 06 Nov 1994 08:49:39 GMT"));
        let now = Timestamp::from_ms(784_111_777_001);
        assert_eq!(read(&headers, now), Some(Duration::from_millis(1_999)));
    }
}
