//! Port `recovery`: whether the hot state is rebuilt, and the lock and the cursor of the run that rebuilds it.

use async_trait::async_trait;
use domain::{ClaimHolder, Fence, Memory, Timestamp};

use crate::fault::Fault;

/// The epoch of the hot state: it is there once the hot state is rebuilt, and absent after a loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Epoch {
    /// Counts up with every rebuild.
    pub number: u64,
    /// When the rebuild's first phase was done.
    pub completed_at: Timestamp,
    /// How many records it replayed.
    pub replayed: u64,
    /// Whether the statuses of webhooks that had ended are still being put back.
    pub statuses_pending: bool,
}

impl Epoch {
    /// How far back a store with this epoch remembers.
    pub const fn memory(&self) -> Memory {
        if self.statuses_pending {
            Memory::StatusesPending(self.completed_at)
        } else {
            Memory::Since(self.completed_at)
        }
    }
}

/// How much is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// Everything.
    #[default]
    All,
    /// What waits, although the epoch is there: a sweep.
    Waiting,
}

/// How far a rebuild has come: the phase, which names the topic, and the next offset of each partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cursor {
    /// The phase: 0 for what waits, later ones for statuses and the dead-letter index.
    pub phase: u32,
    /// The next offset by partition.
    pub offsets: Vec<u64>,
    /// The offsets to stop at, by partition, read before the first record.
    pub ends: Vec<u64>,
    /// Records replayed so far.
    pub replayed: u64,
    /// How much is replayed.
    pub scope: Scope,
    /// When that began.
    pub begun_at: Timestamp,
}

/// The rebuild's lock and cursor, and the epoch.
///
/// Contract: one live holder at a time; a stale fence moves nothing.
#[async_trait]
pub trait Recovery: Send + Sync {
    /// The epoch; `None` when the hot state was lost.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn epoch(&self) -> Result<Option<Epoch>, Fault>;

    /// Takes or renews the lock until `until`, which gives it back when that is `now`; `None` when another
    /// run holds it.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn lock(
        &self,
        holder: &ClaimHolder,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<(Fence, Cursor)>, Fault>;

    /// Records how far the rebuild has come; `false` when the fence is stale.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn advance(&self, fence: Fence, cursor: &Cursor) -> Result<bool, Fault>;

    /// Sets the epoch; `false` when the fence is stale.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn complete(&self, fence: Fence, epoch: &Epoch) -> Result<bool, Fault>;

    /// A fingerprint of everything that waits, the same for the same webhooks at the same times in any order (RB-1).
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn fingerprint(&self) -> Result<u64, Fault>;
}
