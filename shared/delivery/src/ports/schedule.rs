//! Port `schedule`: the due set. [`domain::Write::Schedule`] fills it.

use async_trait::async_trait;
use domain::{Timestamp, Waiting, WebhookId};

use crate::fault::Fault;

/// The lease of one release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The name of its holder: unique to one release.
    pub token: String,
    /// The time: entries due by now are taken.
    pub now: Timestamp,
    /// When the entries may be leased again.
    pub until: Timestamp,
}

/// How much waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Depth {
    /// Everything in the due set.
    pub waiting: u64,
    /// What is due.
    pub due: u64,
}

/// The retry schedule.
///
/// Contract: a leased entry is not leased again before its lease ends; an entry written while leased is not leased any
/// more, so that forgetting it with the old token changes nothing (X7); member and record move together (X13).
#[async_trait]
pub trait Schedule: Send + Sync {
    /// Leases at most `max` entries that are due, earliest first; fewer, but not none, when they would fill the memory of
    /// the caller.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn lease(&self, lease: &Lease, max: usize) -> Result<Vec<Waiting>, Fault>;

    /// Forgets entries that are still under this lease.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer; the entries are released again after their lease.
    async fn forget(&self, lease: &Lease, ids: &[WebhookId]) -> Result<(), Fault>;

    /// When the next entry is due, leased ones at the end of their lease.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn next_due(&self) -> Result<Option<Timestamp>, Fault>;

    /// How much waits.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn depth(&self, now: Timestamp) -> Result<Depth, Fault>;
}
