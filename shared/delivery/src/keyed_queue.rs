//! The order in which records are worked on: those of one tenant in their order, or a few at a time; tenants beside each
//! other.
//!
//! A server's consumer and the batch of one invocation take their records from it. It knows neither where records come
//! from nor how they are acknowledged.

use std::collections::{BTreeMap, VecDeque};

use domain::{ConfigId, Position, Record};

use crate::ports::log::LogRecord;

/// Records that wait to be worked on.
///
/// Contract: of one key at most `per_key` are taken and not done; they are taken in the order in which they were added,
/// and so are the keys.
#[derive(Debug)]
pub struct KeyedQueue {
    per_key: usize,
    keys: BTreeMap<Key, Queue>,
    /// The keys whose turn it is: each once for every record that may be taken.
    ready: VecDeque<Key>,
}

/// What records have in common whose order counts: the tenant. A record that cannot be read has no tenant and is a key of
/// its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// All dispatches of one tenant.
    Tenant(ConfigId),
    /// One record.
    Alone(Position),
}

#[derive(Debug, Default)]
struct Queue {
    records: VecDeque<LogRecord>,
    taken: usize,
}

impl Key {
    fn of(record: &LogRecord) -> Self {
        match &record.value {
            Ok(Record::Dispatch(_, dispatch)) => Self::Tenant(dispatch.webhook.config_id.clone()),
            Ok(_) | Err(_) => Self::Alone(record.position),
        }
    }
}

impl KeyedQueue {
    /// A queue in which at most `per_key` records of a key are taken at once. 0 counts as 1, which keeps their order.
    pub fn new(per_key: usize) -> Self {
        Self { per_key: per_key.max(1), keys: BTreeMap::new(), ready: VecDeque::new() }
    }

    /// Adds records behind those that are there.
    pub fn add(&mut self, records: impl IntoIterator<Item = LogRecord>) {
        for record in records {
            let key = Key::of(&record);
            self.keys.entry(key.clone()).or_default().records.push_back(record);
            self.ready.push_back(key);
        }
    }

    /// Takes the next record; `None` when all remaining records wait for others of their key.
    pub fn take(&mut self) -> Option<(Key, LogRecord)> {
        while let Some(key) = self.ready.pop_front() {
            let Some(queue) = self.keys.get_mut(&key) else { continue };
            if queue.taken < self.per_key
                && let Some(record) = queue.records.pop_front()
            {
                queue.taken += 1;
                return Some((key, record));
            }
        }
        None
    }

    /// Ends a record of this key, which was taken and is settled.
    pub fn done(&mut self, key: &Key) {
        let Some(queue) = self.keys.get_mut(key) else { return };
        queue.taken = queue.taken.saturating_sub(1);
        if !queue.records.is_empty() {
            self.ready.push_back(key.clone());
        } else if queue.taken == 0 {
            self.keys.remove(key);
        }
    }

    /// Ends a record of this key, which was taken and could not be settled. Where order counts, the records behind it must
    /// not overtake it: they are dropped from the queue, and are redelivered with it.
    pub fn failed(&mut self, key: &Key) {
        if self.per_key == 1
            && let Some(queue) = self.keys.get_mut(key)
        {
            queue.records.clear();
        }
        self.done(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Timestamp, Undecodable};

    fn record(offset: u64) -> LogRecord {
        let position = Position { partition: 0, offset };
        let undecodable = Undecodable {
            topic: String::new(),
            position,
            key: None,
            value: None,
            error: String::new(),
            at: Timestamp::EPOCH,
        };
        LogRecord { position, value: Err(undecodable) }
    }

    #[test]
    fn a_record_that_cannot_be_read_waits_for_no_other() {
        let mut queue = KeyedQueue::new(0);
        queue.add([record(7), record(8)]);
        let (first, second) = (queue.take().unwrap(), queue.take().unwrap());
        assert_eq!((first.1.position.offset, second.1.position.offset), (7, 8));
        assert!(queue.take().is_none());
        queue.failed(&first.0);
        queue.done(&second.0);
        assert!(queue.keys.is_empty() && queue.ready.is_empty(), "{queue:?}");
    }
}
