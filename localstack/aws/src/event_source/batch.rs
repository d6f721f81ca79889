//! Records on their way into an event.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Where a record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) partition: i32,
    pub(super) offset: i64,
}

/// A record as it stands in an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EventRecord {
    pub(super) place: Place,
    /// When it was written, in ms since the Unix epoch.
    pub(super) at_ms: u64,
    pub(super) key: Option<Vec<u8>>,
    /// Its JSON object.
    pub(super) json: String,
}

/// Records that are tried together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Batch {
    /// By partition and offset.
    pub(super) records: Vec<Arc<EventRecord>>,
    /// How often they have failed.
    pub(super) failures: u32,
}

impl Batch {
    pub(super) fn new(mut records: Vec<Arc<EventRecord>>) -> Self {
        records.sort_by_key(|record| record.place);
        Self { records, failures: 0 }
    }

    /// The same records, some of them.
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
    /// For so many records in so many bytes, of which some are taken already.
    pub(super) const fn new(size_max: usize, bytes_max: usize) -> Self {
        Self { records: Vec::new(), bytes: 0, size_max, bytes_max }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) const fn is_full(&self) -> bool {
        self.records.len() >= self.size_max
    }

    /// Takes a record, or gives it back when it doesn't fit any more. The first always fits: nobody would ever take it.
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
