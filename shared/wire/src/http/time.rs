//! Points in time as text: RFC 3339.

use domain::Timestamp;

const MS_PER_DAY: u64 = 86_400_000;
/// The last millisecond that four digits of a year can tell.
const LAST: u64 = 253_402_300_799_999;
/// From 0000-03-01 to 1970-01-01, in days.
const DAYS_TO_EPOCH: u64 = 719_468;
const DAYS_PER_ERA: u64 = 146_097;

/// Writes a point in time in UTC with milliseconds: `2026-01-31T23:59:59.250Z`. Later than the year 9999 reads as its
/// end.
pub fn write(at: Timestamp) -> String {
    let ms = at.as_ms().min(LAST);
    let (year, month, day) = civil(ms / MS_PER_DAY);
    let (second, ms) = (ms % MS_PER_DAY / 1000, ms % 1000);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Reads an RFC 3339 date and time, finer than milliseconds rounded down; before 1970 reads as 1970.
///
/// A space before the offset counts as `+`: that is what a `+` in a query string turns into.
pub fn parse(text: &str) -> Option<Timestamp> {
    let mut rest = text;
    let rest = &mut rest;
    let (year, month, day) = (digits(rest, 4)?, after(rest, "-", 2)?, after(rest, "-", 2)?);
    let hour = after(rest, "T", 2).or_else(|| after(rest, "t", 2))?;
    let (minute, second) = (after(rest, ":", 2)?, after(rest, ":", 2)?);
    let is_day = (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    if !is_day || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let fraction = if rest.starts_with('.') { fraction_ms(rest)? } else { 0 };
    let (sign, offset_ms) = offset(rest)?;
    // Counted from 0000-03-01, so that nothing is negative before the epoch is taken off.
    let ms = days(year, month, day) * MS_PER_DAY + ((hour * 60 + minute) * 60 + second) * 1000 + fraction;
    let ms = if sign == '-' { ms + offset_ms } else { ms.saturating_sub(offset_ms) };
    rest.is_empty().then(|| Timestamp::from_ms(ms.saturating_sub(DAYS_TO_EPOCH * MS_PER_DAY)))
}

fn civil(days_since_epoch: u64) -> (u64, u64, u64) {
    let days = days_since_epoch + DAYS_TO_EPOCH;
    let (era, day_of_era) = (days / DAYS_PER_ERA, days % DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// Days since 0000-03-01; a date of the year 0 before it counts as that day.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year.saturating_sub(1) } else { year };
    let from_march = (month + 9) % 12;
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    era * DAYS_PER_ERA + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year
}

const fn days_of(year: u64, month: u64) -> u64 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn digits(rest: &mut &str, count: usize) -> Option<u64> {
    let (number, tail) = rest.split_at_checked(count)?;
    *rest = tail;
    number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())?
}

fn after(rest: &mut &str, mark: &str, count: usize) -> Option<u64> {
    let mut tail = rest.strip_prefix(mark)?;
    let number = digits(&mut tail, count)?;
    *rest = tail;
    Some(number)
}

fn fraction_ms(rest: &mut &str) -> Option<u64> {
    let tail = rest.strip_prefix('.')?;
    let end = tail.bytes().take_while(u8::is_ascii_digit).count();
    let (fraction, tail) = tail.split_at_checked(end)?;
    *rest = tail;
    let ms: String = fraction.chars().chain("00".chars()).take(3).collect();
    if fraction.is_empty() { None } else { ms.parse().ok() }
}

fn offset(rest: &mut &str) -> Option<(char, u64)> {
    let mut characters = rest.chars();
    let sign = characters.next()?;
    *rest = characters.as_str();
    match sign {
        'Z' | 'z' => Some(('+', 0)),
        '+' | '-' | ' ' => {
            let (hour, minute) = (digits(rest, 2)?, after(rest, ":", 2)?);
            (hour <= 23 && minute <= 59).then_some((sign, (hour * 60 + minute) * 60_000))
        }
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
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (LAST, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(write(Timestamp::from_ms(ms)), text);
            assert_eq!(parse(text), Some(Timestamp::from_ms(ms)), "{text}");
        }
        assert_eq!(write(Timestamp::from_ms(u64::MAX)), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn every_day_of_many_years_survives_the_way_there_and_back() {
        for day in 0..60_000 {
            let at = Timestamp::from_ms(day * MS_PER_DAY + day);
            assert_eq!(parse(&write(at)), Some(at));
        }
    }

    #[test]
    fn reads_offsets_and_fractions() {
        for (text, ms) in [
            ("1970-01-01T01:00:00+01:00", 0),
            ("1970-01-01T01:00:00 01:00", 0),
            ("1969-12-31T23:00:00-01:00", 0),
            ("1969-12-31T22:00:00Z", 0),
            ("0000-01-01T00:00:00Z", 0),
            ("1970-01-01t00:00:01.5z", 1500),
            ("1970-01-01T00:00:00.123456789Z", 123),
        ] {
            assert_eq!(parse(text), Some(Timestamp::from_ms(ms)), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_time() {
        for text in [
            "",
            "now",
            "0",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-13-01T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00Zx",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00+0100",
            "+026-01-01T00:00:00Z",
            "2026-01-0\u{e9}T00:00:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
