//! When an invocation ends.

use std::time::Duration;

use domain::Timestamp;

/// The longest that the platform lets an invocation last, 15 minutes, and a minute for clocks that differ.
const LONGEST: Duration = Duration::from_mins(16);

/// When an invocation ends that begins now, from the deadline that the platform named.
///
/// Units: `named_ms` is milliseconds since the Unix epoch. It is compared with the wall clock, since a monotonic clock
/// stands still while the platform freezes the process. A deadline that has passed, or is further away than any
/// invocation lasts, is implausible: local emulators send a constant. Then the invocation lasts `fallback`.
pub fn deadline(named_ms: u64, now: Timestamp, fallback: Duration) -> Timestamp {
    let named = Timestamp::from_ms(named_ms);
    let is_plausible = named > now && named.since(now) <= LONGEST;
    if is_plausible { named } else { now.plus(fallback) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_implausible_deadline_falls_back() {
        let now = Timestamp::from_ms(1_769_860_800_000);
        let fallback = Duration::from_mins(1);
        let at = |ms: u64| deadline(ms, now, fallback).as_ms() - now.as_ms();
        assert_eq!(at(now.as_ms() + 1), 1);
        assert_eq!(at(now.as_ms() + 900_000), 900_000, "15 minutes");
        assert_eq!(at(now.as_ms()), 60_000, "it has passed");
        assert_eq!(at(600_000), 60_000, "the constant of a local emulator");
        assert_eq!(at(0), 60_000);
        assert_eq!(at(now.as_ms() + 961_000), 60_000, "longer than any invocation");
        assert_eq!(at(u64::MAX), 60_000);
    }
}
