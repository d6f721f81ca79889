//! Port `feed` in memory: one member of a consumer group.

use std::sync::Arc;

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::log::{Feed, LogRecord};
use domain::{Position, Topic};
use tokio::sync::Notify;

use crate::log::MemoryLog;

/// A member of a topic's consumer group. It leaves when it is dropped, and its partitions go to the others.
#[derive(Debug)]
pub struct MemoryFeed {
    log: Arc<MemoryLog>,
    topic: Topic,
    member: u64,
    wake: Arc<Notify>,
}

impl MemoryFeed {
    pub(super) fn join(log: Arc<MemoryLog>, topic: Topic) -> Self {
        let (member, wake) = log.topic(topic).group.lock().join();
        Self { log, topic, member, wake }
    }

    fn ready(&self, max: usize) -> Vec<LogRecord> {
        let topic = self.log.topic(self.topic);
        let mut group = topic.group.lock();
        let mut ready = Vec::new();
        for (partition, from) in group.assigned(self.member) {
            let Some(slot) = topic.partition(partition) else { continue };
            let (found, next) = slot.lock().read(from, max.saturating_sub(ready.len()));
            group.handed_out(partition, next);
            ready.extend(
                found.into_iter().map(|(offset, record)| LogRecord {
                    position: Position { partition, offset },
                    value: Ok(record),
                }),
            );
            if ready.len() >= max {
                // Another partition may have more.
                self.wake.notify_one();
                break;
            }
        }
        ready
    }
}

#[async_trait]
impl Feed for MemoryFeed {
    async fn next(&self, max: usize) -> Result<Vec<LogRecord>, Fault> {
        loop {
            let ready = self.ready(max);
            if !ready.is_empty() {
                return Ok(ready);
            }
            self.wake.notified().await;
        }
    }

    async fn commit(&self, position: Position) -> Result<(), Fault> {
        let topic = self.log.topic(self.topic);
        let committed = topic.group.lock().commit(self.member, position.partition, position.offset);
        if let Some(slot) = topic.partition(position.partition).filter(|_| committed) {
            let change = slot.lock().committed(position.offset);
            self.log.account(change);
        }
        Ok(())
    }
}

impl Drop for MemoryFeed {
    fn drop(&mut self) {
        self.log.topic(self.topic).group.lock().leave(self.member);
    }
}
