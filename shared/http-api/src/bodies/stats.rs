//! Hourly statistics.

use delivery::ports::stats::Counts;
use serde::Serialize;
use utoipa::ToSchema;

/// The counts of the last hour and the last day.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StatsAnswer {
    /// This hour and the one before it, UTC.
    pub(crate) last_1h: StatsPeriod,
    /// This hour and the 24 before it, UTC.
    pub(crate) last_24h: StatsPeriod,
}

/// The counts of one period: the sum of the whole hours that it touches.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StatsPeriod {
    /// Its length.
    #[schema(example = "1h")]
    period: &'static str,
    /// Webhooks accepted.
    enqueued: u64,
    /// Webhooks delivered.
    delivered: u64,
    /// Attempts that failed and are repeated.
    failed: u64,
    /// Webhooks dead-lettered.
    exhausted: u64,
    /// Webhooks moved to the slow lane.
    diverted: u64,
    /// Different endpoints; the store may estimate the number.
    unique_endpoints: u64,
}

impl StatsPeriod {
    pub(crate) const fn new(period: &'static str, (counts, unique_endpoints): (Counts, u64)) -> Self {
        let Counts { enqueued, delivered, failed, exhausted, diverted } = counts;
        Self { period, enqueued, delivered, failed, exhausted, diverted, unique_endpoints }
    }
}
