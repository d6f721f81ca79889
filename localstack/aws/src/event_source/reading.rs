//! The thread of a poller. It polls the client whether or not the poller has room for records: so a client that forgot all
//! brokers is replaced even while the poller is busy, or waits for a commit of that client; and the client's reports are
//! served in time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use rdkafka::consumer::Consumer;
use rdkafka::error::KafkaResult;
use rdkafka::message::BorrowedMessage;
use rdkafka::{Offset, TopicPartitionList};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::batch::EventRecord;
use super::client::{Client, CurrentClient, QUERY_TIMEOUT};
use super::event;
use super::room::{self, Room};
use crate::spec::StartingPosition;

/// How long one poll waits for a record.
const TICK: Duration = Duration::from_millis(50);
/// The pause between two tries to reach the cluster.
const PAUSE: Duration = Duration::from_millis(200);
/// How long the poller may have no room before the partitions are paused. Pausing is not done at once because it throws
/// away the records that the client fetched ahead.
const FULL_MAX: Duration = Duration::from_millis(200);

/// The thread's state.
pub(super) struct Reading {
    current: Arc<CurrentClient>,
    client: Arc<Client>,
    stop: CancellationToken,
    /// The next offset to read of each partition.
    next: BTreeMap<i32, i64>,
    /// Records that were read and are not handed over yet.
    waiting: VecDeque<EventRecord>,
    is_paused: bool,
}

impl Reading {
    pub(super) fn new(current: &Arc<CurrentClient>, stop: CancellationToken) -> Self {
        let (client, current) = (current.client(), Arc::clone(current));
        Self { current, client, stop, next: BTreeMap::new(), waiting: VecDeque::new(), is_paused: false }
    }

    /// Reads partitions until it is stopped or the receiver of the records is gone.
    pub(super) fn run(mut self, partitions: &[i32], records: &mpsc::Sender<Arc<EventRecord>>) {
        if self.begin(partitions) {
            self.go_on(records);
        }
    }

    /// Assigns the partitions at the group's offsets. Returns false when it was stopped before that worked.
    fn begin(&mut self, partitions: &[i32]) -> bool {
        while !self.stop.is_cancelled() {
            let Err(error) = self.assign(partitions) else { return true };
            tracing::debug!(topic = self.topic(), "not assigned yet: {error:#}");
            self.replace();
            std::thread::sleep(PAUSE);
        }
        false
    }

    fn topic(&self) -> &str {
        &self.current.config.spec.topic
    }

    fn assign(&mut self, partitions: &[i32]) -> anyhow::Result<()> {
        let mut asked = TopicPartitionList::new();
        for partition in partitions {
            asked.add_partition(self.topic(), *partition);
        }
        let mut next = BTreeMap::new();
        for found in self.client.committed_offsets(asked, QUERY_TIMEOUT)?.elements() {
            let offset = if let Offset::Offset(offset) = found.offset() {
                offset
            } else {
                self.starting_offset(found.partition())?
            };
            next.insert(found.partition(), offset);
        }
        self.next = next;
        self.read_on(&self.client)?;
        for (partition, offset) in &self.next {
            self.current.watched.record_assigned(*partition, *offset);
        }
        self.current.watched.add_polled(partitions.len());
        Ok(())
    }

    fn starting_offset(&self, partition: i32) -> anyhow::Result<i64> {
        let (oldest, next) = self.client.fetch_watermarks(self.topic(), partition, QUERY_TIMEOUT)?;
        Ok(match self.current.config.spec.starting_position {
            StartingPosition::TrimHorizon => oldest,
            StartingPosition::Latest => next,
        })
    }

    /// Assigns every partition to a client, from its next offset on.
    fn read_on(&self, client: &Client) -> KafkaResult<()> {
        let mut list = TopicPartitionList::new();
        for (partition, next) in &self.next {
            list.add_partition_offset(self.topic(), *partition, Offset::Offset(*next))?;
        }
        client.assign(&list)
    }

    /// Replaces the client, and reads on with the new one.
    fn replace(&mut self) {
        match self.current.replace(|client| Ok(self.read_on(client)?)) {
            Ok(client) => self.client = client,
            Err(error) => {
                tracing::warn!("an event source could not begin anew: {error:#}");
                std::thread::sleep(PAUSE);
            }
        }
    }

    fn go_on(&mut self, records: &mpsc::Sender<Arc<EventRecord>>) {
        while !self.stop.is_cancelled() {
            if self.client.context().is_cut_off() {
                tracing::warn!(topic = self.topic(), "the Kafka client lost all brokers: a new one reads on");
                self.replace();
            }
            match self.hand_over(records) {
                Handed::Everything => {
                    self.flow();
                    self.poll(TICK);
                }
                Handed::NotAll => {
                    self.pause();
                    self.poll(Duration::ZERO);
                }
                Handed::Closed => return,
            }
        }
    }

    /// Hands waiting records over to the poller, as far as it has room.
    fn hand_over(&mut self, records: &mpsc::Sender<Arc<EventRecord>>) -> Handed {
        while let Some(record) = self.waiting.pop_front() {
            match room::wait(records, FULL_MAX) {
                Room::There(room) => room.send(Arc::new(record)),
                Room::None => {
                    self.waiting.push_front(record);
                    return Handed::NotAll;
                }
                Room::Closed => return Handed::Closed,
            }
        }
        Handed::Everything
    }

    /// Pauses all partitions. It is repeated in every turn of the loop, since a new client is not paused.
    fn pause(&mut self) {
        self.is_paused = self.client.assignment().and_then(|all| self.client.pause(&all)).is_ok() || self.is_paused;
    }

    fn flow(&mut self) {
        if self.is_paused {
            self.is_paused = self.client.assignment().and_then(|all| self.client.resume(&all)).is_err();
        }
    }

    fn poll(&mut self, timeout: Duration) {
        let Some(found) = self.client.poll(timeout) else { return };
        match self.written(found) {
            Ok(record) => {
                self.next.insert(record.place.partition, record.place.offset.saturating_add(1));
                self.waiting.push_back(record);
            }
            // The client tries again by itself.
            Err(error) => tracing::debug!("an event source could not read: {error:#}"),
        }
    }

    fn written(&self, found: KafkaResult<BorrowedMessage<'_>>) -> anyhow::Result<EventRecord> {
        Ok(event::record(&found?, self.current.config.spec.tombstones)?)
    }
}

/// How far records were handed over.
enum Handed {
    Everything,
    NotAll,
    /// The poller has ended.
    Closed,
}
