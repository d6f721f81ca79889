//! How long things are kept in Redis. Garbage collection only: no rule depends on these.

use std::time::Duration;

use crate::kinds::{Kind, days, hours, mins, span};

section! {
    /// How long things are kept in Redis; never 0, which would delete them at once.
    "ttl." Ttl {
        /// How long circuits of endpoints are kept.
        circuit_state_ttl: Duration = span(mins(1)..=days(365)).or(hours(24));
        /// How long statuses of webhooks are kept.
        status_ttl: Duration = span(mins(1)..=days(365)).or(hours(168));
        /// How long hourly counters are kept.
        stats_ttl: Duration = span(hours(1)..=days(365)).or(hours(48));
        /// How long markers of settled dispatches are kept.
        idempotency_ttl: Duration = span(mins(1)..=days(365)).or(hours(24));
        /// How long webhooks that wait for a retry are kept; at least `retry.max_delay`.
        retry_data_ttl: Duration = span(mins(1)..=days(365)).or(days(7));
    }
}
