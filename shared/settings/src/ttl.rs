//! How long things are kept in Redis. Garbage collection only: no rule depends on these.

use std::time::Duration;

use crate::kinds::{Kind, days, hours, mins, span};

section! {
    /// How long things are kept in Redis; never 0, which would delete them at once.
    "ttl." Ttl {
        /// Circuits of endpoints.
        circuit_state_ttl: Duration = span(mins(1)..=days(365)).or(hours(24));
        /// Statuses of webhooks.
        status_ttl: Duration = span(mins(1)..=days(365)).or(hours(168));
        /// Hourly counters.
        stats_ttl: Duration = span(hours(1)..=days(365)).or(hours(48));
        /// Markers of settled dispatches.
        idempotency_ttl: Duration = span(mins(1)..=days(365)).or(hours(24));
        /// Webhooks that wait for a retry; at least retry.max_delay.
        retry_data_ttl: Duration = span(mins(1)..=days(365)).or(days(7));
    }
}
