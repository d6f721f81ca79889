//! Port `recovery`: whether the hot state is whole, and who rebuilds it.

use async_trait::async_trait;
use domain::{ClaimHolder, Fence, Memory, Timestamp};

use crate::fault::Fault;

/// The mark of a whole hot state. It is absent after a loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Epoch {
    /// Counts up with every rebuild.
    pub number: u64,
    /// When the rebuild's first phase was done.
    pub completed_at: Timestamp,
    /// How many records it replayed.
    pub replayed: u64,
    /// Whether the statuses of what had ended still follow behind.
    pub statuses_pending: bool,
}

impl Epoch {
    /// How far back a store remembers that has this mark.
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
    /// What waits, although the mark is there.
    Waiting,
}

/// How far a rebuild has come: the next offset of each partition, and which topic is being read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cursor {
    /// The phase: 0 for the waiting webhooks, later ones for what follows behind.
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

/// The rebuild's lock, cursor and mark.
///
/// Contract: one live holder at a time; a stale fence moves nothing.
#[async_trait]
pub trait Recovery: Send + Sync {
    /// The mark; `None` when the hot state was lost.
    ///
    /// # Errors
    /// A [`Fault`] when the store cannot be asked.
    async fn epoch(&self) -> Result<Option<Epoch>, Fault>;

    /// Takes or renews the lock until `until`, which gives it back when that is `now`; `None` when somebody else holds it.
    ///
    /// # Errors
    /// A [`Fault`] when the store cannot be asked.
    async fn lock(
        &self,
        holder: &ClaimHolder,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<(Fence, Cursor)>, Fault>;

    /// Records how far the rebuild has come; `false` when the fence is stale.
    ///
    /// # Errors
    /// A [`Fault`] when the store cannot be asked.
    async fn advance(&self, fence: Fence, cursor: &Cursor) -> Result<bool, Fault>;

    /// Sets the mark; `false` when the fence is stale.
    ///
    /// # Errors
    /// A [`Fault`] when the store cannot be asked.
    async fn complete(&self, fence: Fence, epoch: &Epoch) -> Result<bool, Fault>;

    /// A fingerprint of everything that waits, the same for the same webhooks at the same times in any order (RB-1).
    ///
    /// # Errors
    /// A [`Fault`] when the store cannot be asked.
    async fn fingerprint(&self) -> Result<u64, Fault>;
}
