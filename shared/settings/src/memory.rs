//! Settings of a server that keeps everything in memory.

use crate::kinds::{Kind, whole};

section! {
    /// Limits of a server that keeps everything in memory.
    "memory." Memory {
        /// How many bytes pending and waiting webhooks may hold; beyond that new ones are answered 503.
        max_bytes: u64 = whole(1_048_576..=1_099_511_627_776).or(268_435_456);
        /// How many finished webhooks stay readable.
        finished_webhooks: u32 = whole(0..=10_000_000).or(10_000);
        /// How many dead letters stay readable.
        dead_letters: u32 = whole(0..=10_000_000).or(10_000);
        /// How many partitions each lane has.
        partitions: u32 = whole(1..=1_024).or(6);
    }
}
