//! One partition: records by offset, and the removal of old ones.

use std::collections::{BTreeMap, VecDeque};

use domain::{Record, Webhook};

/// The memory of a webhook beside its payload and headers, about, in bytes.
const WEBHOOK_OVERHEAD: u64 = 512;
/// A partition is compacted when so many records are superseded: often enough to bound the memory, and rarely enough that
/// its cost, a pass over the partition, is spread over many records.
const SUPERSEDED_MAX: usize = 1024;

/// How old records are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retention {
    /// A record is removed once the consumer group has committed it.
    UntilCommitted,
    /// So many of the newest records stay.
    Newest(usize),
    /// The last record of each key stays.
    Compacted,
}

/// How an operation changed the bytes held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Change {
    pub(super) added: u64,
    pub(super) removed: u64,
}

#[derive(Debug)]
pub(super) struct Partition {
    retention: Retention,
    /// The offset that `records` begins at.
    start: u64,
    /// `None` where compaction took a record.
    records: VecDeque<Option<Entry>>,
    /// The last offset of each key, in a compacted partition.
    last_of: BTreeMap<String, u64>,
    superseded: usize,
}

#[derive(Debug)]
struct Entry {
    key: String,
    record: Record,
}

impl Partition {
    pub(super) const fn new(retention: Retention) -> Self {
        Self { retention, start: 0, records: VecDeque::new(), last_of: BTreeMap::new(), superseded: 0 }
    }

    pub(super) const fn start(&self) -> u64 {
        self.start
    }

    pub(super) fn end(&self) -> u64 {
        self.start.saturating_add(u64::try_from(self.records.len()).unwrap_or_default())
    }

    pub(super) fn append(&mut self, key: String, record: Record) -> (u64, Change) {
        let offset = self.end();
        let mut change = Change { added: self.weigh(&record), removed: 0 };
        if self.retention == Retention::Compacted {
            change.removed = self.supersede(&key, offset);
        }
        self.records.push_back(Some(Entry { key, record }));
        match self.retention {
            Retention::Newest(max) => {
                while self.records.len() > max {
                    self.drop_front();
                }
            }
            Retention::Compacted if self.superseded > SUPERSEDED_MAX => self.compact(),
            Retention::Compacted | Retention::UntilCommitted => {}
        }
        (offset, change)
    }

    pub(super) fn read(&self, from: u64, limit: usize) -> (Vec<(u64, Record)>, u64) {
        let skip = usize::try_from(from.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let mut found = Vec::new();
        let mut next = from.max(self.start).min(self.end());
        for (entry, offset) in self.records.iter().zip(self.start..).skip(skip) {
            if found.len() >= limit {
                return (found, next);
            }
            next = offset.saturating_add(1);
            found.extend(entry.as_ref().map(|entry| (offset, entry.record.clone())));
        }
        (found, next)
    }

    /// Drops what the consumer group has committed.
    pub(super) fn committed(&mut self, offset: u64) -> Change {
        let mut change = Change::default();
        while self.retention == Retention::UntilCommitted && self.start < offset && !self.records.is_empty() {
            change.removed +=
                self.records.front().and_then(Option::as_ref).map_or(0, |entry| self.weigh(&entry.record));
            self.drop_front();
        }
        change
    }

    /// Counts the key's former record as superseded and returns the bytes that it held.
    fn supersede(&mut self, key: &str, offset: u64) -> u64 {
        let Some(former) = self.last_of.insert(key.to_owned(), offset) else { return 0 };
        self.superseded += 1;
        let index = usize::try_from(former.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let former = self.records.get(index).and_then(Option::as_ref);
        former.map_or(0, |entry| self.weigh(&entry.record))
    }

    /// Keeps the last record of each key, and no tombstone.
    fn compact(&mut self) {
        let last_of = &mut self.last_of;
        for (slot, offset) in self.records.iter_mut().zip(self.start..) {
            let Some(entry) = slot else { continue };
            let is_last = last_of.get(&entry.key) == Some(&offset);
            let is_tombstone = matches!(entry.record, Record::Tombstone(..));
            if is_last && is_tombstone {
                last_of.remove(&entry.key);
            }
            if !is_last || is_tombstone {
                *slot = None;
            }
        }
        self.superseded = 0;
        while matches!(self.records.front(), Some(None)) {
            self.drop_front();
        }
    }

    fn drop_front(&mut self) {
        self.records.pop_front();
        self.start = self.start.saturating_add(1);
    }

    /// The bytes that a record counts for: only webhooks that are pending or waiting count.
    fn weigh(&self, record: &Record) -> u64 {
        match self.retention {
            Retention::UntilCommitted | Retention::Compacted => size_of(record),
            Retention::Newest(_) => 0,
        }
    }
}

/// About how many bytes a record holds.
pub(super) fn size_of(record: &Record) -> u64 {
    match record {
        Record::Dispatch(_, dispatch) => webhook_size(&dispatch.webhook),
        Record::Waiting(waiting) => webhook_size(&waiting.dispatch.webhook),
        Record::DeadLetter(dead_letter) => webhook_size(&dead_letter.dispatch.webhook),
        Record::Result(_) | Record::Undecodable(_) | Record::Tombstone(..) | Record::Setting(_) => 0,
    }
}

fn webhook_size(webhook: &Webhook) -> u64 {
    let headers: usize = webhook.headers.iter().map(|header| header.name.len() + header.value.as_str().len()).sum();
    let bytes = webhook.payload.bytes.len() + webhook.endpoint.url().len() + headers;
    u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(WEBHOOK_OVERHEAD)
}
