//! What the store keeps of rebuilds: the epoch of the last one, and how far the one under way has come.

use crate::facts::Memory;
use crate::time::Timestamp;

/// The last rebuild of the hot state. The store has none after it was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Epoch {
    /// Counts up with every rebuild.
    pub number: u64,
    /// When the rebuild's first phase was done.
    pub completed_at: Timestamp,
    /// How many records it replayed.
    pub replayed: u64,
    /// Whether the statuses of the webhooks that had ended are not restored yet.
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
pub enum RebuildScope {
    /// Everything.
    #[default]
    All,
    /// Only the waiting webhooks, although the epoch is there: a sweep.
    Waiting,
}

/// How far a rebuild has come: the next offset of each partition, and which topic is being read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RebuildCursor {
    /// The phase: 0 for the waiting webhooks, later ones for statuses and dead letters.
    pub phase: u32,
    /// The next offset by partition.
    pub offsets: Vec<u64>,
    /// The offsets to stop at, by partition, read before the first record.
    pub ends: Vec<u64>,
    /// Records replayed so far.
    pub replayed: u64,
    /// How much is replayed.
    pub scope: RebuildScope,
    /// When the rebuild began.
    pub begun_at: Timestamp,
}
