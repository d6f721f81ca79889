//! How long keys are kept in Redis: garbage collection, beyond the times that rules need.

use std::time::Duration;

use crate::kinds::{Kind, days, hours, mins, span};

section! {
    /// How long keys are kept in Redis; never 0, which would delete them at once.
    "ttl." Ttl {
        /// How long the state of an endpoint is kept after its last request: circuit, tokens, and a cooldown at least until
        /// its window ends; longer than `circuit_breaker.recovery_timeout`.
        circuit_state_ttl: Duration = span(mins(1)..=days(365)).or(hours(24));
        /// How long statuses of webhooks are kept. Status, marker and attempts of a webhook are one key, which stays for
        /// the longest of `status_ttl`, `idempotency_ttl` and `retry_data_ttl`.
        status_ttl: Duration = span(mins(1)..=days(365)).or(hours(168));
        /// How long hourly counters are kept.
        stats_ttl: Duration = span(hours(1)..=days(365)).or(hours(48));
        /// How long markers of settled dispatches are kept.
        idempotency_ttl: Duration = span(mins(1)..=days(365)).or(hours(24));
        /// How long the snapshot of a webhook that waits for a retry is kept; at least `retry.max_delay`. Entries of the schedule
        /// do not expire.
        retry_data_ttl: Duration = span(mins(1)..=days(365)).or(days(7));
    }
}
