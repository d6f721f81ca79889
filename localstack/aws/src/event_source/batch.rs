//! Records of Kafka, gathered into the batch of one event.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The partition and offset of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) partition: i32,
    pub(super) offset: i64,
}

/// A record as it is written into an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EventRecord {
    pub(super) place: Place,
    /// The record's own timestamp, in ms since the Unix epoch.
    pub(super) at_ms: u64,
    pub(super) key: Option<Vec<u8>>,
    /// Its JSON object.
    pub(super) json: String,
}

/// Records that are handed to the function together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Batch {
    /// In order of partition and offset.
    pub(super) records: Vec<Arc<EventRecord>>,
    /// How often the function has failed them.
    pub(super) failures: u32,
}

impl Batch {
    pub(super) fn new(mut records: Vec<Arc<EventRecord>>) -> Self {
        records.sort_by_key(|record| record.place);
        Self { records, failures: 0 }
    }

    /// A batch of some of these records, with the same count of failures.
    pub(super) fn with(&self, records: Vec<Arc<EventRecord>>) -> Self {
        Self { records, failures: self.failures }
    }

    /// The last offset of each partition.
    pub(super) fn ends(&self) -> BTreeMap<i32, i64> {
        self.records.iter().map(|record| (record.place.partition, record.place.offset)).collect()
    }
}

/// Records are gathered until the batch is full.
#[derive(Debug)]
pub(super) struct Gathering {
    records: Vec<Arc<EventRecord>>,
    bytes: usize,
    size_max: usize,
    bytes_max: usize,
}

impl Gathering {
    /// An empty batch that takes at most `size_max` records with `bytes_max` bytes of JSON.
    pub(super) const fn new(size_max: usize, bytes_max: usize) -> Self {
        Self { records: Vec::new(), bytes: 0, size_max, bytes_max }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) const fn is_full(&self) -> bool {
        self.records.len() >= self.size_max
    }

    /// Takes a record, or returns it when it doesn't fit any more. The first always fits: a record that is larger than a
    /// batch may be would otherwise never be tried, nor given up.
    pub(super) fn take(&mut self, record: Arc<EventRecord>) -> Result<(), Arc<EventRecord>> {
        let bytes = self.bytes + record.json.len() + 1;
        if self.is_full() || (!self.is_empty() && bytes > self.bytes_max) {
            return Err(record);
        }
        self.bytes = bytes;
        self.records.push(record);
        Ok(())
    }

    pub(super) fn into_batch(self) -> Batch {
        Batch::new(self.records)
    }
}
