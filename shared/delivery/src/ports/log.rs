//! Port `log`: the source of truth.

use async_trait::async_trait;
use domain::{Position, Record, Topic, Undecodable, WebhookId};

use crate::fault::Fault;

/// A record as read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// Its position.
    pub position: Position,
    /// The record, or why it cannot be read.
    pub value: Result<Record, Undecodable>,
}

impl LogRecord {
    /// The webhook that a dispatch hands over, for log lines about it.
    pub fn webhook_id(&self) -> Option<&WebhookId> {
        match &self.value {
            Ok(Record::Dispatch(_, dispatch)) => Some(&dispatch.webhook.id),
            Ok(_) | Err(_) => None,
        }
    }
}

/// The extent of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The partition.
    pub partition: u32,
    /// The offset of the oldest record that may still be there.
    pub start: u64,
    /// The offset that the next record will get.
    pub end: u64,
}

/// What one read found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The records, by offset. Compaction leaves gaps.
    pub records: Vec<LogRecord>,
    /// The offset to read on from: past every gap, so that a reader stops by position, never by a record.
    pub next: u64,
}

/// Writes and replays records.
///
/// Contract: a record's partition follows from its key alone; records of one key keep their order; a compacted topic
/// keeps at least the last record of each key, and none once the last one is a tombstone; a published record survives the
/// death of its publisher.
#[async_trait]
pub trait Log: Send + Sync {
    /// Publishes records together and waits for every acknowledgement. Positions are in the order of `records`.
    ///
    /// # Errors
    /// A [`Fault`] when any record is not acknowledged; the others may be, so publish all of them again.
    async fn publish(&self, records: Vec<Record>) -> Result<Vec<Position>, Fault>;

    /// The extent of every partition of a topic, by partition.
    ///
    /// # Errors
    /// A [`Fault`] when the log does not answer.
    async fn extents(&self, topic: Topic) -> Result<Vec<Extent>, Fault>;

    /// Reads at most `limit` records from a position on. An empty page at the end; never waits for new records.
    ///
    /// # Errors
    /// A [`Fault`] when the log cannot be read.
    async fn read(&self, topic: Topic, from: Position, limit: usize) -> Result<Page, Fault>;

    /// How many records of a lane's topic its consumers have not settled.
    ///
    /// # Errors
    /// A [`Fault`] when the log does not answer.
    async fn lag(&self, topic: Topic) -> Result<u64, Fault>;
}

/// One member of the consumer group of a lane's topic, for servers that run without Lambda.
///
/// Contract: every record is handed out at least once; after a member dies, what it had not committed is handed out
/// again; one partition has one member at a time.
#[async_trait]
pub trait Feed: Send + Sync {
    /// Waits for records and hands out at most `max` of them, of one or more partitions, in order within each.
    ///
    /// # Errors
    /// A [`Fault`] when the log cannot be read; asking again is safe.
    async fn next(&self, max: usize) -> Result<Vec<LogRecord>, Fault>;

    /// Commits everything before `position` of its partition, and never moves the group back.
    ///
    /// # Errors
    /// A [`Fault`] when the commit did not happen; the records may come again.
    async fn commit(&self, position: Position) -> Result<(), Fault>;
}
