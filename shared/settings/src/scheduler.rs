//! Settings of the release of due webhooks.

use std::time::Duration;

use crate::kinds::{Kind, hours, mins, ms, secs, span, whole, written};
use crate::reader::Reader;

section! {
    /// The release of due webhooks.
    "scheduler." Scheduler {
        /// The longest pause between two reads of the schedule.
        poll_interval: Duration = span(ms(1)..=mins(1)).or(secs(1));
        /// How many webhooks are released at once.
        batch_size: u32 = whole(1..=100_000).or(500);
        /// How long a lease on due webhooks lasts; longer than `scheduler.poll_interval`.
        lock_timeout: Duration = span(secs(1)..=hours(1)).or(secs(30));
    }
}

impl Scheduler {
    pub(crate) fn check(&self, reader: &mut Reader) {
        if self.lock_timeout <= self.poll_interval {
            let keys = ["scheduler.lock_timeout", "scheduler.poll_interval"];
            let (lock, poll) = (written(self.lock_timeout), written(self.poll_interval));
            reader.conflict(&keys, format!("{lock} must be longer than scheduler.poll_interval, {poll}; raise it"));
        }
    }
}
