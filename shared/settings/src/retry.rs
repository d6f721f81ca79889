//! Settings of retries.

use std::time::Duration;

use domain::{MAX_ATTEMPTS_DEFAULT, MAX_ATTEMPTS_MAX, ReleasePolicy, RetryPolicy};

use crate::kinds::{Kind, fraction, span, whole, written};
use crate::reader::Reader;

section! {
    /// When a failed attempt is made again.
    "retry." Retry {
        /// The delay after the first failed attempt; each further one doubles it.
        base_delay: Duration = span(RetryPolicy::BASE_DELAY).or(RetryPolicy::default().base_delay());
        /// The longest delay; at least `retry.base_delay`.
        max_delay: Duration = span(RetryPolicy::MAX_DELAY).or(RetryPolicy::default().max_delay());
        /// How many requests a webhook gets at most when it names no number itself.
        max_attempts: u32 = whole(1..=MAX_ATTEMPTS_MAX).or(MAX_ATTEMPTS_DEFAULT);
        /// How far a delay may differ, as a part of it: 0.2 is 20 percent up or down.
        jitter: f64 = fraction(RetryPolicy::JITTER).or(RetryPolicy::default().jitter());
        /// How late a webhook may be released after Retry-After, as a factor: with 1.5, 60 s become 60 to
        /// 90 s.
        release_window: f64 = fraction(ReleasePolicy::WINDOW).or(ReleasePolicy::default().window());
        /// In how many cohorts, 10 s apart, the webhooks of an endpoint are released; 0 is off.
        cohorts: u32 = whole(ReleasePolicy::COHORTS).or(ReleasePolicy::default().cohorts());
    }
}

impl Retry {
    pub(crate) fn check(&self, reader: &mut Reader) {
        if self.base_delay > self.max_delay {
            let keys = ["retry.base_delay", "retry.max_delay"];
            let (base, max) = (written(self.base_delay), written(self.max_delay));
            reader.conflict(&keys, format!("{base} is longer than retry.max_delay, {max}; set it to {max} or less"));
        }
    }
}
