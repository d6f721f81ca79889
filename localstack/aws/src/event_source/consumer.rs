//! A poller's own Kafka client: reads the partitions that it is given, and commits to the group of its mapping.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::BorrowedMessage;
use rdkafka::metadata::{MetadataPartition, MetadataTopic};
use rdkafka::{ClientConfig, ClientContext, Offset, Statistics, TopicPartitionList};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::batch::EventRecord;
use super::control::Watched;
use super::event;
use super::source::SourceConfig;
use crate::spec::StartingPosition;

/// One wait for a record.
const TICK: Duration = Duration::from_millis(50);
/// How long a question to the cluster may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two tries to reach the cluster.
const PAUSE: Duration = Duration::from_millis(200);

/// Takes the client's reports.
pub(super) struct Reports {
    watched: Arc<Watched>,
    topic: String,
}

impl ClientContext for Reports {
    fn log(&self, _: RDKafkaLogLevel, facility: &str, message: &str) {
        tracing::debug!(facility, message, "Kafka client of an event source");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, reason, "Kafka client of an event source");
    }

    fn stats(&self, statistics: Statistics) {
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
    consumer: Arc<BaseConsumer<Reports>>,
    config: Arc<SourceConfig>,
    watched: Arc<Watched>,
}

impl Reader {
    pub(super) fn new(config: &Arc<SourceConfig>, watched: &Arc<Watched>) -> anyhow::Result<Self> {
        let context = Reports { watched: Arc::clone(watched), topic: config.spec.topic.clone() };
        let consumer = ClientConfig::new()
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
            .set("statistics.interval.ms", "1000")
            .create_with_context(context)
            .context("the event source's Kafka client was not built")?;
        Ok(Self { consumer: Arc::new(consumer), config: Arc::clone(config), watched: Arc::clone(watched) })
    }

    /// The partitions of the topic. Blocks.
    pub(super) fn partitions(&self) -> anyhow::Result<Vec<i32>> {
        let topic = &self.config.spec.topic;
        let known = self.consumer.fetch_metadata(Some(topic), PATIENCE)?;
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
        let (consumer, config, watched) =
            (Arc::clone(&self.consumer), Arc::clone(&self.config), Arc::clone(&self.watched));
        let reading = move || {
            let reading = Reading { consumer, config, watched, stop };
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
        let consumer = Arc::clone(&self.consumer);
        tokio::task::spawn_blocking(move || consumer.commit(&list, CommitMode::Sync)).await??;
        self.watched.committed(&next);
        Ok(())
    }
}

/// What the thread has.
struct Reading {
    consumer: Arc<BaseConsumer<Reports>>,
    config: Arc<SourceConfig>,
    watched: Arc<Watched>,
    stop: CancellationToken,
}

impl Reading {
    /// Goes to where the group stands. Returns whether it got there before it was asked to stop.
    fn begin(&self, partitions: &[i32]) -> bool {
        while !self.stop.is_cancelled() {
            match self.assign(partitions) {
                Ok(()) => return true,
                Err(error) => tracing::debug!(topic = self.config.spec.topic, "not assigned yet: {error:#}"),
            }
            std::thread::sleep(PAUSE);
        }
        false
    }

    fn assign(&self, partitions: &[i32]) -> anyhow::Result<()> {
        let topic = &self.config.spec.topic;
        let mut asked = TopicPartitionList::new();
        for partition in partitions {
            asked.add_partition(topic, *partition);
        }
        let mut list = TopicPartitionList::new();
        for found in self.consumer.committed_offsets(asked, PATIENCE)?.elements() {
            let offset = if let Offset::Offset(offset) = found.offset() {
                offset
            } else {
                self.starting_offset(found.partition())?
            };
            list.add_partition_offset(topic, found.partition(), Offset::Offset(offset))?;
            self.watched.assigned(found.partition(), offset);
        }
        self.consumer.assign(&list)?;
        self.watched.polls(partitions.len());
        Ok(())
    }

    fn starting_offset(&self, partition: i32) -> anyhow::Result<i64> {
        let (oldest, next) = self.consumer.fetch_watermarks(&self.config.spec.topic, partition, PATIENCE)?;
        Ok(match self.config.spec.starting_position {
            StartingPosition::TrimHorizon => oldest,
            StartingPosition::Latest => next,
        })
    }

    fn go_on(&self, records: &mpsc::Sender<Arc<EventRecord>>) {
        while !self.stop.is_cancelled() {
            let Some(found) = self.consumer.poll(TICK) else { continue };
            match self.written(found) {
                Ok(record) => {
                    if records.blocking_send(Arc::new(record)).is_err() {
                        return;
                    }
                }
                // The client goes on by itself.
                Err(error) => tracing::debug!("an event source could not read: {error:#}"),
            }
        }
    }

    fn written(&self, found: KafkaResult<BorrowedMessage<'_>>) -> anyhow::Result<EventRecord> {
        Ok(event::record(&found?, self.config.spec.tombstones)?)
    }
}
