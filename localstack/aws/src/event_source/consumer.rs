//! A poller's own Kafka client: reads the partitions that it is given, and commits to the group of its mapping.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Context;
use parking_lot::Mutex;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::BorrowedMessage;
use rdkafka::metadata::{MetadataPartition, MetadataTopic};
use rdkafka::{ClientConfig, ClientContext, Offset, Statistics, TopicPartitionList};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::batch::EventRecord;
use super::config::SourceConfig;
use super::control::Watched;
use super::event;
use crate::spec::StartingPosition;

/// One wait for a record.
const TICK: Duration = Duration::from_millis(50);
/// How long a question to the cluster may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a commit may take: longer than the client waits for a coordinator.
const COMMIT_MAX: Duration = Duration::from_secs(15);
/// Between two tries to reach the cluster.
const PAUSE: Duration = Duration::from_millis(200);

/// How often the client tells how it is.
const TOLD_EVERY_MS: &str = "1000";
/// So many times in a row it has to know no broker before it is replaced: what a cluster that comes back tells can make it
/// forget all of them, and look for none again.
const FORGOTTEN_AFTER: u32 = 10;

type Client = BaseConsumer<Reports>;

/// Takes the client's reports.
pub(super) struct Reports {
    watched: Arc<Watched>,
    topic: String,
    told_of_no_broker: AtomicU32,
}

impl Reports {
    fn is_cut_off(&self) -> bool {
        self.told_of_no_broker.load(Ordering::Relaxed) >= FORGOTTEN_AFTER
    }

    fn note_brokers(&self, statistics: &Statistics) {
        let mut sources = statistics.brokers.values().map(|broker| broker.source.as_str());
        if sources.any(|source| matches!(source, "configured" | "learned")) {
            self.told_of_no_broker.store(0, Ordering::Relaxed);
        } else {
            self.told_of_no_broker.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl ClientContext for Reports {
    fn log(&self, _: RDKafkaLogLevel, facility: &str, message: &str) {
        tracing::debug!(facility, message, "Kafka client of an event source");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, reason, "Kafka client of an event source");
    }

    fn stats(&self, statistics: Statistics) {
        self.note_brokers(&statistics);
        let topic = statistics.topics.get(&self.topic);
        let partitions = topic.into_iter().flat_map(|topic| &topic.partitions);
        for (partition, found) in partitions.filter(|(_, found)| found.hi_offset >= 0) {
            self.watched.saw_end(*partition, found.hi_offset);
        }
    }
}

impl ConsumerContext for Reports {}

/// The client of one poller.
pub(super) struct Reader {
    client: Arc<Mutex<Arc<Client>>>,
    config: Arc<SourceConfig>,
    watched: Arc<Watched>,
}

fn build(config: &SourceConfig, watched: &Arc<Watched>) -> anyhow::Result<Arc<Client>> {
    let topic = config.spec.topic.clone();
    let context = Reports { watched: Arc::clone(watched), topic, told_of_no_broker: AtomicU32::new(0) };
    let client = ClientConfig::new()
        .set("bootstrap.servers", config.brokers.join(","))
        .set("group.id", &config.group)
        .set("client.id", "howk-local")
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("auto.offset.reset", "earliest")
        .set("fetch.wait.max.ms", "100")
        .set("fetch.error.backoff.ms", "100")
        .set("fetch.queue.backoff.ms", "10")
        .set("reconnect.backoff.max.ms", "1000")
        // A broker that comes back may lead with another epoch, and the usual five minutes are a long time to find out.
        .set("topic.metadata.refresh.interval.ms", "5000")
        // Without a membership nothing else looks for a coordinator that was away, for ten minutes; and a commit waits for
        // it as long as a session lasts.
        .set("coordinator.query.interval.ms", "1000")
        .set("session.timeout.ms", "6000")
        .set("queued.max.messages.kbytes", "32768")
        .set("statistics.interval.ms", TOLD_EVERY_MS)
        .create_with_context(context)
        .context("the event source's Kafka client was not built")?;
    Ok(Arc::new(client))
}

impl Reader {
    pub(super) fn new(config: &Arc<SourceConfig>, watched: &Arc<Watched>) -> anyhow::Result<Self> {
        let client = Arc::new(Mutex::new(build(config, watched)?));
        Ok(Self { client, config: Arc::clone(config), watched: Arc::clone(watched) })
    }

    fn present(&self) -> Arc<Client> {
        Arc::clone(&self.client.lock())
    }

    /// The partitions of the topic. Blocks.
    pub(super) fn partitions(&self) -> anyhow::Result<Vec<i32>> {
        let topic = &self.config.spec.topic;
        let known = self.present().fetch_metadata(Some(topic), PATIENCE)?;
        let found = known.topics().iter().find(|found| found.name() == topic).filter(|found| found.error().is_none());
        let partitions: Vec<i32> =
            found.into_iter().flat_map(MetadataTopic::partitions).map(MetadataPartition::id).collect();
        anyhow::ensure!(!partitions.is_empty(), "there is no topic {topic}");
        Ok(partitions)
    }

    /// Reads partitions on a thread of its own, until asked to stop or nobody takes records any more.
    pub(super) fn read(
        &self,
        partitions: Vec<i32>,
        records: mpsc::Sender<Arc<EventRecord>>,
        stop: CancellationToken,
    ) -> std::io::Result<()> {
        let (present, config, watched) =
            (Arc::clone(&self.client), Arc::clone(&self.config), Arc::clone(&self.watched));
        let client = self.present();
        let reading = move || {
            let mut reading = Reading { client, present, config, watched, stop, next: BTreeMap::new() };
            if reading.begin(&partitions) {
                reading.go_on(&records);
            }
        };
        std::thread::Builder::new().name("event-source".to_owned()).spawn(reading).map(drop)
    }

    /// Commits up to where each partition was handled.
    pub(super) async fn commit(&self, mut next: BTreeMap<i32, i64>) -> anyhow::Result<()> {
        next.retain(|partition, next| self.watched.is_beyond(*partition, *next));
        if next.is_empty() {
            return Ok(());
        }
        let mut list = TopicPartitionList::new();
        for (partition, next) in &next {
            list.add_partition_offset(&self.config.spec.topic, *partition, Offset::Offset(*next))?;
        }
        let (client, (told, answer)) = (self.present(), oneshot::channel());
        // On a thread that nobody waits for at the end: a client that has lost its brokers never answers.
        let committing = move || drop(told.send(client.commit(&list, CommitMode::Sync)));
        std::thread::Builder::new().name("event-source-commit".to_owned()).spawn(committing)?;
        tokio::time::timeout(COMMIT_MAX, answer).await.context("the broker does not answer")???;
        self.watched.committed(&next);
        Ok(())
    }
}

/// What the thread has.
struct Reading {
    client: Arc<Client>,
    /// Where the poller finds the client.
    present: Arc<Mutex<Arc<Client>>>,
    config: Arc<SourceConfig>,
    watched: Arc<Watched>,
    stop: CancellationToken,
    /// The next offset to read of each partition.
    next: BTreeMap<i32, i64>,
}

impl Reading {
    /// Goes to where the group stands. Returns whether it got there before it was asked to stop.
    fn begin(&mut self, partitions: &[i32]) -> bool {
        while !self.stop.is_cancelled() {
            match self.assign(partitions) {
                Ok(()) => return true,
                Err(error) => tracing::debug!(topic = self.config.spec.topic, "not assigned yet: {error:#}"),
            }
            std::thread::sleep(PAUSE);
        }
        false
    }

    fn assign(&mut self, partitions: &[i32]) -> anyhow::Result<()> {
        let mut asked = TopicPartitionList::new();
        for partition in partitions {
            asked.add_partition(&self.config.spec.topic, *partition);
        }
        for found in self.client.committed_offsets(asked, PATIENCE)?.elements() {
            let offset = if let Offset::Offset(offset) = found.offset() {
                offset
            } else {
                self.starting_offset(found.partition())?
            };
            self.next.insert(found.partition(), offset);
        }
        self.read_on(&self.client)?;
        for (partition, offset) in &self.next {
            self.watched.assigned(*partition, *offset);
        }
        self.watched.polls(partitions.len());
        Ok(())
    }

    /// Lets a client read every partition from its next offset on.
    fn read_on(&self, client: &Client) -> KafkaResult<()> {
        let mut list = TopicPartitionList::new();
        for (partition, next) in &self.next {
            list.add_partition_offset(&self.config.spec.topic, *partition, Offset::Offset(*next))?;
        }
        client.assign(&list)
    }

    /// Goes on with a new client.
    fn replace(&mut self) -> anyhow::Result<()> {
        let client = build(&self.config, &self.watched)?;
        self.read_on(&client)?;
        *self.present.lock() = Arc::clone(&client);
        let lost = std::mem::replace(&mut self.client, client);
        // Dropping a client waits for its threads.
        std::thread::Builder::new().name("event-source-lost".to_owned()).spawn(move || drop(lost))?;
        Ok(())
    }

    fn starting_offset(&self, partition: i32) -> anyhow::Result<i64> {
        let (oldest, next) = self.client.fetch_watermarks(&self.config.spec.topic, partition, PATIENCE)?;
        Ok(match self.config.spec.starting_position {
            StartingPosition::TrimHorizon => oldest,
            StartingPosition::Latest => next,
        })
    }

    fn go_on(&mut self, records: &mpsc::Sender<Arc<EventRecord>>) {
        while !self.stop.is_cancelled() {
            if self.client.context().is_cut_off() {
                self.begin_anew();
            }
            let Some(found) = self.client.poll(TICK) else { continue };
            match self.written(found) {
                Ok(record) => {
                    self.next.insert(record.place.partition, record.place.offset.saturating_add(1));
                    if records.blocking_send(Arc::new(record)).is_err() {
                        return;
                    }
                }
                // The client goes on by itself.
                Err(error) => tracing::debug!("an event source could not read: {error:#}"),
            }
        }
    }

    fn begin_anew(&mut self) {
        tracing::warn!(topic = self.config.spec.topic, "the Kafka client lost all brokers: a new one reads on");
        if let Err(error) = self.replace() {
            tracing::warn!("an event source could not begin anew: {error:#}");
            std::thread::sleep(PAUSE);
        }
    }

    fn written(&self, found: KafkaResult<BorrowedMessage<'_>>) -> anyhow::Result<EventRecord> {
        Ok(event::record(&found?, self.config.spec.tombstones)?)
    }
}
