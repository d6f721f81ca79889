//! Port `log` in memory.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use delivery::ports::log::{Extent, Log, LogRecord, Page};
use delivery::{Fault, FaultKind};
use domain::{Position, Record, Topic};

use crate::MemoryLimits;
use crate::log::group::Group;
use crate::log::partition::{Partition, Retention};

mod feed;
mod group;
mod partition;

pub use feed::MemoryFeed;

/// A log with partitions, offsets, consumer groups and compaction.
#[derive(Debug)]
pub struct MemoryLog {
    topics: [TopicLog; Topic::ALL.len()],
    bytes_max: u64,
    /// Bytes that pending and waiting webhooks hold.
    bytes: AtomicU64,
}

#[derive(Debug)]
struct TopicLog {
    partitions: Vec<parking_lot::Mutex<Partition>>,
    group: parking_lot::Mutex<Group>,
}

impl TopicLog {
    fn new(topic: Topic, limits: &MemoryLimits) -> Self {
        let partitions = usize::try_from(limits.partitions.max(1)).unwrap_or(1);
        let share = |max: usize| Retention::Newest(max.div_ceil(partitions).max(1));
        let retention = match topic {
            Topic::Pending | Topic::Slow => Retention::UntilCommitted,
            Topic::Results => share(limits.finished_max),
            Topic::DeadLetter => share(limits.dead_letters_max),
            Topic::State => Retention::Compacted,
        };
        Self {
            partitions: (0..partitions).map(|_| parking_lot::Mutex::new(Partition::new(retention))).collect(),
            group: parking_lot::Mutex::new(Group::new(partitions)),
        }
    }

    fn partition_of(&self, key: &str) -> usize {
        // This hasher's keys are fixed, so a key's partition is the same in every process.
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let count = u64::try_from(self.partitions.len()).unwrap_or(1);
        usize::try_from(hasher.finish() % count).unwrap_or_default()
    }

    fn partition(&self, partition: u32) -> Option<&parking_lot::Mutex<Partition>> {
        self.partitions.get(usize::try_from(partition).ok()?)
    }
}

impl MemoryLog {
    /// An empty log.
    pub fn new(limits: &MemoryLimits) -> Self {
        Self {
            topics: Topic::ALL.map(|topic| TopicLog::new(topic, limits)),
            bytes_max: limits.bytes_max,
            bytes: AtomicU64::new(0),
        }
    }

    /// Joins the consumer group of a lane's topic. The member leaves when the feed is dropped.
    pub fn join(self: &Arc<Self>, topic: Topic) -> MemoryFeed {
        MemoryFeed::join(Arc::clone(self), topic)
    }

    fn topic(&self, topic: Topic) -> &TopicLog {
        let [pending, slow, results, dead_letter, state] = &self.topics;
        match topic {
            Topic::Pending => pending,
            Topic::Slow => slow,
            Topic::Results => results,
            Topic::DeadLetter => dead_letter,
            Topic::State => state,
        }
    }

    /// Refuses new webhooks when there is no room. An accepted webhook may always be published again.
    fn make_room(&self, records: &[Record]) -> Result<(), Fault> {
        let new: u64 = records.iter().filter(|record| is_new(record)).map(partition::size_of).sum();
        if new > 0 && self.bytes.load(Ordering::Relaxed).saturating_add(new) > self.bytes_max {
            let context = format!("pending and waiting webhooks hold the {} bytes they may", self.bytes_max);
            return Err(Fault::new(FaultKind::OverLimit, context));
        }
        Ok(())
    }

    fn append(&self, record: Record) -> Position {
        let topic = self.topic(record.topic());
        let key = record.key();
        let index = topic.partition_of(&key);
        let partition = u32::try_from(index).unwrap_or_default();
        let Some(slot) = topic.partitions.get(index) else { return Position::default() };
        let (offset, change) = slot.lock().append(key, record);
        self.account(change);
        Position { partition, offset }
    }

    fn account(&self, change: partition::Change) {
        self.bytes.fetch_add(change.added, Ordering::Relaxed);
        // Saturating: a wrap would refuse every webhook from then on.
        self.bytes.update(Ordering::Relaxed, Ordering::Relaxed, |bytes| bytes.saturating_sub(change.removed));
    }
}

fn is_new(record: &Record) -> bool {
    matches!(record, Record::Dispatch(_, dispatch) if dispatch.number == 1)
}

#[async_trait]
impl Log for MemoryLog {
    async fn publish(&self, records: Vec<Record>) -> Result<Vec<Position>, Fault> {
        self.make_room(&records)?;
        let mut positions = Vec::with_capacity(records.len());
        for record in records {
            let topic = record.topic();
            let position = self.append(record);
            self.topic(topic).group.lock().notify(position.partition);
            positions.push(position);
        }
        Ok(positions)
    }

    async fn extents(&self, topic: Topic) -> Result<Vec<Extent>, Fault> {
        let partitions = self.topic(topic).partitions.iter().zip(0_u32..);
        Ok(partitions
            .map(|(slot, partition)| {
                let slot = slot.lock();
                Extent { partition, start: slot.start(), end: slot.end() }
            })
            .collect())
    }

    async fn read(&self, topic: Topic, from: Position, limit: usize) -> Result<Page, Fault> {
        let Some(slot) = self.topic(topic).partition(from.partition) else { return Ok(Page::default()) };
        let (found, next) = slot.lock().read(from.offset, limit);
        let records = found
            .into_iter()
            .map(|(offset, record)| LogRecord {
                position: Position { partition: from.partition, offset },
                value: Ok(record),
            })
            .collect();
        Ok(Page { records, next })
    }

    async fn lag(&self, topic: Topic) -> Result<u64, Fault> {
        let topic = self.topic(topic);
        let committed = topic.group.lock().committed();
        Ok(topic.partitions.iter().zip(committed).map(|(slot, at)| slot.lock().end().saturating_sub(at)).sum())
    }
}
