//! Works on a lane's topic without Lambda: records of one tenant in order (or N at a time), tenants concurrently.
//!
//! One consumer reads the partitions of one group member and commits the contiguous part that is settled. A record that
//! cannot be settled is tried again in place; what is not settled at the end is not committed and comes again.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use delivery::deliver::{Deliver, Handled, Invocation};
use delivery::keyed_queue::{Key, KeyedQueue};
use delivery::ports::log::{Feed, LogRecord};
use delivery::rebuild::Rebuild;
use domain::{Position, Record};
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Records read together.
const READ_MAX: usize = 256;
/// Records that may be read and not settled.
const UNSETTLED_MAX: usize = 1024;
/// Bytes that may be; what one read brings may go beyond. A record that is worked on takes several times its bytes.
const UNSETTLED_BYTES_MAX: usize = 16 << 20;
/// The pauses before a record that was handed back, or a feed that failed, is tried again.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Works on the partitions of one feed.
#[derive(Clone)]
pub struct Consumer {
    /// Where the records come from.
    pub feed: Arc<dyn Feed>,
    /// What is done with them.
    pub deliver: Arc<Deliver>,
    /// Whether work may go on.
    pub rebuild: Arc<Rebuild>,
    /// On whose behalf.
    pub invocation: Invocation,
    /// How many dispatches of the lane are worked on at once, over all its consumers.
    pub permits: Arc<Semaphore>,
    /// How many dispatches of one tenant are worked on at once. 1 keeps their order.
    pub per_key: usize,
    /// When to stop.
    pub stop: CancellationToken,
}

impl Consumer {
    /// Works until told to stop, then finishes what is under way.
    pub async fn run(self) {
        let mut backlog = Backlog::new(self.per_key);
        let (mut under_way, mut committing) = (FuturesUnordered::new(), FuturesUnordered::new());
        let mut read = self.read();
        loop {
            while let Some((key, record)) = backlog.queue.take() {
                under_way.push(self.settle(key, record));
            }
            if committing.is_empty() {
                // Whatever was settled while the last commits were under way is committed together.
                committing.extend(backlog.commits().map(|position| self.commit(position)));
            }
            tokio::select! {
                biased;
                Some((key, position)) = under_way.next() => backlog.settled(&key, position),
                Some(()) = committing.next() => {}
                () = self.stop.cancelled() => break,
                records = &mut read, if backlog.has_room() => {
                    backlog.add(records);
                    read = self.read();
                }
            }
        }
        while let Some((key, position)) = under_way.next().await {
            backlog.settled(&key, position);
        }
        committing.extend(backlog.commits().map(|position| self.commit(position)));
        committing.collect::<()>().await;
    }

    /// Reads records once the hot state is whole, however long that takes.
    fn read(&self) -> BoxFuture<'_, Vec<LogRecord>> {
        Box::pin(async {
            let mut pause = PAUSE_MIN;
            loop {
                match self.feed.next(READ_MAX).await {
                    Ok(records) => {
                        self.wait_until_rebuilt().await;
                        return records;
                    }
                    Err(fault) => {
                        tracing::warn!(fault = fault.chain(), "the log cannot be read; trying again");
                    }
                }
                pause = self.pause(pause).await;
            }
        })
    }

    async fn wait_until_rebuilt(&self) {
        let mut pause = PAUSE_MIN;
        while !matches!(self.rebuild.is_rebuilt().await, Ok(true)) {
            pause = self.pause(pause).await;
        }
    }

    /// Settles one record; `None` in place of its position when it was told to stop before that.
    async fn settle(&self, key: Key, record: LogRecord) -> (Key, Option<Position>) {
        let position = record.position;
        let webhook_id = || record.webhook_id().map(tracing::field::display);
        let mut pause = PAUSE_MIN;
        while !self.stop.is_cancelled() {
            // A closed semaphore would mean that everything ends: then nothing is settled either.
            let Ok(_permit) = self.permits.acquire().await else { break };
            match self.deliver.handle(record.clone(), &self.invocation).await {
                Ok(Handled::Done) => return (key, Some(position)),
                Ok(Handled::Redelivered(reason)) => {
                    tracing::debug!(webhook_id = webhook_id(), ?reason, ?position, "handed back; trying again");
                }
                Err(fault) => {
                    let fault = fault.chain();
                    tracing::warn!(webhook_id = webhook_id(), fault, ?position, "not settled; trying again");
                }
            }
            pause = self.pause(pause).await;
        }
        (key, None)
    }

    async fn pause(&self, pause: Duration) -> Duration {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => {}
            () = self.deliver.clock.sleep(pause) => {}
        }
        pause.saturating_mul(2).min(PAUSE_MAX)
    }

    /// Commits until it is done or told to stop. A group that is sharing out its partitions anew refuses commits, and
    /// when nothing further comes, no later commit makes up for one that was refused.
    async fn commit(&self, position: Position) {
        let mut pause = PAUSE_MIN;
        while let Err(fault) = self.feed.commit(position).await {
            if self.stop.is_cancelled() {
                tracing::warn!(fault = fault.chain(), ?position, "not committed; these records may come again");
                return;
            }
            tracing::warn!(fault = fault.chain(), ?position, "not committed; trying again");
            pause = self.pause(pause).await;
        }
    }
}

/// What was read and is not settled.
#[derive(Debug)]
struct Backlog {
    queue: KeyedQueue,
    partitions: BTreeMap<u32, Partition>,
    /// What may be committed of each partition.
    to_commit: BTreeMap<u32, u64>,
    unsettled: usize,
    unsettled_bytes: usize,
}

#[derive(Debug, Default)]
struct Partition {
    /// The bytes of each record, by its offset.
    unsettled: BTreeMap<u64, usize>,
    /// The offset after the last record read.
    next: u64,
}

impl Backlog {
    fn new(per_key: usize) -> Self {
        Self {
            queue: KeyedQueue::new(per_key),
            partitions: BTreeMap::new(),
            to_commit: BTreeMap::new(),
            unsettled: 0,
            unsettled_bytes: 0,
        }
    }

    /// Whether more may be read.
    const fn has_room(&self) -> bool {
        self.unsettled < UNSETTLED_MAX && self.unsettled_bytes < UNSETTLED_BYTES_MAX
    }

    /// Adds what was read. A record whose partition went away and came back before it was committed comes again: while it
    /// is unsettled here its turn is still to come or it is worked on, and a second request for it must not go out.
    /// Whatever settles it lets it be committed, the second time as well as the first.
    fn add(&mut self, records: Vec<LogRecord>) {
        for record in records {
            let Position { partition, offset } = record.position;
            let partition = self.partitions.entry(partition).or_default();
            partition.next = offset.saturating_add(1);
            if let Entry::Vacant(vacant) = partition.unsettled.entry(offset) {
                let bytes = *vacant.insert(bytes_of(&record));
                self.unsettled += 1;
                self.unsettled_bytes = self.unsettled_bytes.saturating_add(bytes);
                self.queue.add([record]);
            }
        }
    }

    /// Notes a record as settled, or as given up without a position.
    fn settled(&mut self, key: &Key, position: Option<Position>) {
        self.queue.done(key);
        self.unsettled = self.unsettled.saturating_sub(1);
        let Some(Position { partition, offset }) = position else { return };
        let Some(state) = self.partitions.get_mut(&partition) else { return };
        let was_first = state.unsettled.keys().next() == Some(&offset);
        let bytes = state.unsettled.remove(&offset).unwrap_or_default();
        self.unsettled_bytes = self.unsettled_bytes.saturating_sub(bytes);
        if was_first {
            self.to_commit.insert(partition, state.unsettled.keys().next().copied().unwrap_or(state.next));
        }
    }

    /// Takes what may be committed now: of each partition the contiguous part that is settled.
    fn commits(&mut self) -> impl Iterator<Item = Position> + use<> {
        std::mem::take(&mut self.to_commit).into_iter().map(|(partition, offset)| Position { partition, offset })
    }
}

/// What a record of a lane's topic holds, about.
fn bytes_of(record: &LogRecord) -> usize {
    match &record.value {
        Ok(Record::Dispatch(_, dispatch)) => dispatch.webhook.payload.bytes.len(),
        Ok(_) => 0,
        Err(undecodable) => undecodable.value.as_ref().map_or(0, Vec::len),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Undecodable;

    fn record(offset: u64) -> LogRecord {
        let position = Position { partition: 0, offset };
        let undecodable = Undecodable {
            topic: String::new(),
            position,
            key: None,
            value: None,
            error: String::new(),
            at: domain::Timestamp::EPOCH,
        };
        LogRecord { position, value: Err(undecodable) }
    }

    const fn alone(offset: u64) -> Key {
        Key::Alone(Position { partition: 0, offset })
    }

    #[test]
    fn x4_only_the_contiguous_settled_part_is_committed() {
        let mut backlog = Backlog::new(1);
        backlog.add(vec![record(7), record(8), record(9)]);
        let started: Vec<_> = std::iter::from_fn(|| backlog.queue.take()).collect();
        assert_eq!(started.len(), 3);
        let at = |offset| Position { partition: 0, offset };
        backlog.settled(&alone(8), Some(at(8)));
        assert_eq!(backlog.commits().next(), None, "7 is not settled yet");
        backlog.settled(&alone(7), Some(at(7)));
        assert_eq!(backlog.commits().collect::<Vec<_>>(), [at(9)]);
        backlog.settled(&alone(9), Some(at(9)));
        assert_eq!(backlog.commits().collect::<Vec<_>>(), [at(10)]);
        assert_eq!((backlog.unsettled, backlog.unsettled_bytes), (0, 0));
    }

    #[test]
    fn what_comes_again_is_taken_again_only_once_it_is_settled() {
        let mut backlog = Backlog::new(1);
        let at = |offset| Position { partition: 0, offset };
        let taken = |backlog: &mut Backlog| {
            let taken = std::iter::from_fn(|| backlog.queue.take());
            taken.map(|(_, record)| record.position.offset).collect::<Vec<_>>()
        };
        backlog.add(vec![record(7), record(8), record(9)]);
        assert_eq!(taken(&mut backlog), [7, 8, 9]);
        backlog.settled(&alone(8), Some(at(8)));
        // Its partition went and came back, and is not read as far as before yet.
        backlog.add(vec![record(7), record(8)]);
        assert_eq!(taken(&mut backlog), [8], "7 is worked on");
        backlog.settled(&alone(9), Some(at(9)));
        assert_eq!(backlog.commits().next(), None);
        backlog.settled(&alone(7), Some(at(7)));
        assert_eq!(backlog.commits().collect::<Vec<_>>(), [at(8)], "8 is worked on once more");
        backlog.settled(&alone(8), Some(at(8)));
        assert_eq!(backlog.commits().collect::<Vec<_>>(), [at(9)]);
        backlog.add(vec![record(9)]);
        assert_eq!(taken(&mut backlog), [9]);
        backlog.settled(&alone(9), Some(at(9)));
        assert_eq!(backlog.commits().collect::<Vec<_>>(), [at(10)]);
        assert_eq!((backlog.unsettled, backlog.unsettled_bytes), (0, 0));
    }

    #[test]
    fn large_records_fill_the_backlog_although_they_are_few() {
        let mut backlog = Backlog::new(1);
        let mut large = record(7);
        large.value.as_mut().unwrap_err().value = Some(vec![0; UNSETTLED_BYTES_MAX]);
        backlog.add(vec![large]);
        assert!(!backlog.has_room());
        // Its partition went and came back.
        backlog.add(vec![record(7)]);
        assert!(backlog.queue.take().is_some());
        backlog.settled(&alone(7), Some(Position { partition: 0, offset: 7 }));
        assert!(backlog.has_room(), "settled, it is gone");
    }
}
