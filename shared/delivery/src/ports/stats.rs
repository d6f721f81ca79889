//! Port `stats`: hourly counters in UTC.

use std::collections::BTreeSet;

use async_trait::async_trait;
use domain::EndpointHash;

use crate::fault::Fault;

/// Hours since the Unix epoch, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hour(pub u64);

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Webhooks accepted.
    pub enqueued: u64,
    /// Webhooks delivered.
    pub delivered: u64,
    /// Attempts that failed and are repeated.
    pub failed: u64,
    /// Webhooks dead-lettered.
    pub exhausted: u64,
    /// Webhooks moved to the slow lane.
    pub diverted: u64,
}

/// The counts to add to one hour.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HourlyStats {
    /// The counters.
    pub counts: Counts,
    /// The endpoints that webhooks were accepted for.
    pub endpoints: BTreeSet<EndpointHash>,
}

/// Hourly statistics. A failure to write them fails nothing else: no decision reads them.
///
/// Contract: additions commute.
#[async_trait]
pub trait Stats: Send + Sync {
    /// Adds what was counted in one hour.
    ///
    /// # Errors
    /// A [`Fault`] when it may not have been added.
    async fn add(&self, hour: Hour, stats: &HourlyStats) -> Result<(), Fault>;

    /// The sum over hours and the (perhaps estimated) number of different endpoints.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn sum(&self, hours: &[Hour]) -> Result<(Counts, u64), Fault>;
}
