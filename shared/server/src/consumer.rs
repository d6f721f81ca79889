//! Delivers the records of a lane's topic without Lambda: those of one tenant in order (or N at a time), those of different
//! tenants concurrently.
//!
//! One consumer reads the partitions of one group member, and commits each up to its first record that is not settled. It
//! retries a record that it cannot settle. Records that are not settled when it stops are not committed, so they are
//! redelivered.

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

/// Records that one read returns at most. Large enough that reading costs little per record, small enough that one read does
/// not fill the backlog.
const READ_MAX: usize = 256;
/// Records in the backlog at most: the next reads happen while the records of the earlier ones wait for slow endpoints.
const UNSETTLED_MAX: usize = 1024;
/// Bytes of payload in the backlog at most, exceeded by one read at most. A record that is being delivered takes several
/// times its bytes, so this bounds a consumer's memory to about 100 MB.
const UNSETTLED_BYTES_MAX: usize = 16 << 20;
/// The pauses before a retry, of a record that is not settled and of a feed that failed. They double from the first, which
/// hides a lost connection, to the last, which does not load a service that is down.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Delivers the records of one feed.
#[derive(Clone)]
pub struct Consumer {
    /// The source of the records.
    pub feed: Arc<dyn Feed>,
    /// The use-case that delivers them.
    pub deliver: Arc<Deliver>,
    /// Says whether the hot state is rebuilt, so that deliveries may go on.
    pub rebuild: Arc<Rebuild>,
    /// The holder of the claims, and the lane.
    pub invocation: Invocation,
    /// Bounds the dispatches that all consumers of the lane deliver at once.
    pub permits: Arc<Semaphore>,
    /// Dispatches of one tenant that this consumer delivers at once. 1 keeps their order.
    pub per_key: usize,
    /// Cancelled when the consumer has to stop.
    pub stop: CancellationToken,
}

impl Consumer {
    /// Delivers until `stop` is cancelled, then finishes the deliveries under way.
    pub async fn run(self) {
        let mut backlog = Backlog::new(self.per_key);
        let (mut under_way, mut committing) = (FuturesUnordered::new(), FuturesUnordered::new());
        let mut read = self.read();
        loop {
            while let Some((key, record)) = backlog.queue.take() {
                under_way.push(self.settle(key, record));
            }
            if committing.is_empty() {
                // One commit covers all records that were settled while the commits before it were under way.
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

    /// Reads records, and returns them when the hot state is rebuilt, however long that takes.
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
                        tracing::warn!(fault = fault.chain(), "the log cannot be read; reading it again");
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

    /// Settles one record. Returns no position when the consumer has to stop first.
    async fn settle(&self, key: Key, record: LogRecord) -> (Key, Option<Position>) {
        let position = record.position;
        let webhook_id = || record.webhook_id().map(tracing::field::display);
        let mut pause = PAUSE_MIN;
        while !self.stop.is_cancelled() {
            // The semaphore is never closed before the end of the process, when nothing needs to be settled.
            let Ok(_permit) = self.permits.acquire().await else { break };
            match self.deliver.handle(record.clone(), &self.invocation).await {
                Ok(Handled::Done) => return (key, Some(position)),
                Ok(Handled::Redelivered(reason)) => {
                    tracing::debug!(
                        webhook_id = webhook_id(),
                        ?reason,
                        ?position,
                        "the record cannot be delivered now; retrying it"
                    );
                }
                Err(fault) => {
                    let fault = fault.chain();
                    tracing::warn!(
                        webhook_id = webhook_id(),
                        fault,
                        ?position,
                        "the record is not settled; retrying it"
                    );
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

    /// Commits, and repeats a refused commit until the consumer has to stop. A group refuses commits while it rebalances, and
    /// if no further record arrives, no later commit would replace the refused one.
    async fn commit(&self, position: Position) {
        let mut pause = PAUSE_MIN;
        while let Err(fault) = self.feed.commit(position).await {
            if self.stop.is_cancelled() {
                tracing::warn!(fault = fault.chain(), ?position, "not committed; these records may be redelivered");
                return;
            }
            tracing::warn!(fault = fault.chain(), ?position, "not committed; committing again");
            pause = self.pause(pause).await;
        }
    }
}

/// The records that were read and are not settled.
#[derive(Debug)]
struct Backlog {
    queue: KeyedQueue,
    partitions: BTreeMap<u32, Partition>,
    /// By partition, the offset to commit.
    to_commit: BTreeMap<u32, u64>,
    unsettled: usize,
    unsettled_bytes: usize,
}

#[derive(Debug, Default)]
struct Partition {
    /// By offset, the bytes of each record that is not settled.
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

    /// Adds records that were read. A partition that this member lost and got back redelivers its records that are not
    /// committed. One that is still unsettled here is queued or being delivered already: it is not added a second time, so
    /// that it causes one request only. Its settlement lets it be committed in both cases.
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

    /// Removes a record that is settled, or that was given up and has no position.
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

    /// Takes the positions to commit now: of each partition the one before which every record is settled.
    fn commits(&mut self) -> impl Iterator<Item = Position> + use<> {
        std::mem::take(&mut self.to_commit).into_iter().map(|(partition, offset)| Position { partition, offset })
    }
}

/// About how many bytes a record of a lane's topic holds.
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
    fn a_redelivered_record_is_delivered_again_only_after_it_was_settled() {
        let mut backlog = Backlog::new(1);
        let at = |offset| Position { partition: 0, offset };
        let taken = |backlog: &mut Backlog| {
            let taken = std::iter::from_fn(|| backlog.queue.take());
            taken.map(|(_, record)| record.position.offset).collect::<Vec<_>>()
        };
        backlog.add(vec![record(7), record(8), record(9)]);
        assert_eq!(taken(&mut backlog), [7, 8, 9]);
        backlog.settled(&alone(8), Some(at(8)));
        // The member lost the partition and got it back; it has not read as far as before.
        backlog.add(vec![record(7), record(8)]);
        assert_eq!(taken(&mut backlog), [8], "7 is being delivered");
        backlog.settled(&alone(9), Some(at(9)));
        assert_eq!(backlog.commits().next(), None);
        backlog.settled(&alone(7), Some(at(7)));
        assert_eq!(backlog.commits().collect::<Vec<_>>(), [at(8)], "8 is being delivered once more");
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
        // The member lost the partition and got it back.
        backlog.add(vec![record(7)]);
        assert!(backlog.queue.take().is_some());
        backlog.settled(&alone(7), Some(Position { partition: 0, offset: 7 }));
        assert!(backlog.has_room(), "a settled record takes no room");
    }
}
