//! Every port of log and store in memory: the embedded default of the server, and the fast back end of the tests.
//!
//! The log has partitions, offsets, consumer groups, redelivery and compaction, so that a rebuild really replays. Memory
//! is bounded: new webhooks are refused when what is pending and waiting fills its share, and what is finished is
//! forgotten oldest first. Nothing outlives the process.

mod log;
mod store;

pub use log::{MemoryFeed, MemoryLog};
pub use store::MemoryStore;

/// How much is kept in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Bytes that pending and waiting webhooks may hold, about; new ones are refused beyond.
    pub bytes_max: u64,
    /// Finished webhooks whose status is kept.
    pub finished_max: usize,
    /// Dead letters that are kept.
    pub dead_letters_max: usize,
    /// Partitions of every topic. At least 1.
    pub partitions: u32,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self { bytes_max: 256 << 20, finished_max: 10_000, dead_letters_max: 10_000, partitions: 6 }
    }
}
