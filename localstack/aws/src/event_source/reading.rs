//! The thread of a poller: it polls the client, whether there is room for what it reads or not. So a client that lost all
//! brokers is replaced while the poller is busy, or waits for that very client; and what the client reports piles up nowhere.

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
use super::client::{Client, Present, QUERY_TIMEOUT};
use super::event;
use super::room::{self, Room};
use crate::spec::StartingPosition;

/// One wait for a record.
const TICK: Duration = Duration::from_millis(50);
/// Between two tries to reach the cluster.
const PAUSE: Duration = Duration::from_millis(200);
/// How long there may be no room before the partitions pause. Pausing throws away what was fetched.
const FULL_MAX: Duration = Duration::from_millis(200);

/// What the thread has.
pub(super) struct Reading {
    present: Arc<Present>,
    client: Arc<Client>,
    stop: CancellationToken,
    /// The next offset to read of each partition.
    next: BTreeMap<i32, i64>,
    /// Read, and not handed over.
    waiting: VecDeque<EventRecord>,
    is_paused: bool,
}

impl Reading {
    pub(super) fn new(present: &Arc<Present>, stop: CancellationToken) -> Self {
        let (client, present) = (present.client(), Arc::clone(present));
        Self { present, client, stop, next: BTreeMap::new(), waiting: VecDeque::new(), is_paused: false }
    }

    /// Reads partitions until asked to stop or nobody takes records any more.
    pub(super) fn run(mut self, partitions: &[i32], records: &mpsc::Sender<Arc<EventRecord>>) {
        if self.begin(partitions) {
            self.go_on(records);
        }
    }

    /// Goes to where the group stands. Returns whether it got there before it was asked to stop.
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
        &self.present.config.spec.topic
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
            self.present.watched.assigned(*partition, *offset);
        }
        self.present.watched.polls(partitions.len());
        Ok(())
    }

    fn starting_offset(&self, partition: i32) -> anyhow::Result<i64> {
        let (oldest, next) = self.client.fetch_watermarks(self.topic(), partition, QUERY_TIMEOUT)?;
        Ok(match self.present.config.spec.starting_position {
            StartingPosition::TrimHorizon => oldest,
            StartingPosition::Latest => next,
        })
    }

    /// Lets a client read every partition from its next offset on.
    fn read_on(&self, client: &Client) -> KafkaResult<()> {
        let mut list = TopicPartitionList::new();
        for (partition, next) in &self.next {
            list.add_partition_offset(self.topic(), *partition, Offset::Offset(*next))?;
        }
        client.assign(&list)
    }

    /// Goes on with a new client.
    fn replace(&mut self) {
        match self.present.replace(|client| Ok(self.read_on(client)?)) {
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
                Handed::NobodyThere => return,
            }
        }
    }

    /// Hands over what waits, as far as there is room.
    fn hand_over(&mut self, records: &mpsc::Sender<Arc<EventRecord>>) -> Handed {
        while let Some(record) = self.waiting.pop_front() {
            match room::wait(records, FULL_MAX) {
                Room::There(room) => room.send(Arc::new(record)),
                Room::None => {
                    self.waiting.push_front(record);
                    return Handed::NotAll;
                }
                Room::Closed => return Handed::NobodyThere,
            }
        }
        Handed::Everything
    }

    /// Every time round, since a new client is not paused.
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
            // The client goes on by itself.
            Err(error) => tracing::debug!("an event source could not read: {error:#}"),
        }
    }

    fn written(&self, found: KafkaResult<BorrowedMessage<'_>>) -> anyhow::Result<EventRecord> {
        Ok(event::record(&found?, self.present.config.spec.tombstones)?)
    }
}

/// What was handed over.
enum Handed {
    Everything,
    NotAll,
    NobodyThere,
}
