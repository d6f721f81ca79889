//! Settings of retries.

use std::time::Duration;

use crate::kinds::{Kind, days, fraction, hours, ms, secs, span, whole};
use crate::reader::Reader;

section! {
    /// When a failed attempt is made again.
    "retry." Retry {
        /// The delay after the first failed attempt; each further one doubles it.
        base_delay: Duration = span(ms(1)..=days(1)).or(secs(10));
        /// The longest delay; at least `retry.base_delay`.
        max_delay: Duration = span(ms(1)..=days(7)).or(hours(24));
        /// How many requests a webhook gets at most when it names no number itself.
        max_attempts: u32 = whole(1..=domain::MAX_ATTEMPTS_MAX).or(domain::MAX_ATTEMPTS_DEFAULT);
        /// How far a delay may differ, as a part of it: 0.2 is 20 percent up or down.
        jitter: f64 = fraction(0.0..=1.0).or(0.2);
        /// How late a webhook may be released after Retry-After, as a factor: with 1.5, 60 s become 60 to
        /// 90 s.
        release_window: f64 = fraction(1.0..=10.0).or(1.5);
        /// In how many cohorts, 10 s apart, the webhooks of an endpoint are released; 0 is off.
        cohorts: u32 = whole(0..=1_000).or(0);
    }
}

impl Retry {
    pub(crate) fn check(&self, reader: &mut Reader) {
        if self.base_delay > self.max_delay {
            let keys = ["retry.base_delay", "retry.max_delay"];
            reader.conflict(&keys, "must not be longer than retry.max_delay");
        }
    }
}
