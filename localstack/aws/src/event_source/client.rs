//! The Kafka client of a poller, and how it is replaced.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use log_kafka::Brokers;
use parking_lot::Mutex;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, ConsumerContext};
use rdkafka::error::KafkaError;
use rdkafka::{ClientConfig, ClientContext, Statistics};

use super::config::SourceConfig;
use super::control::Watched;

/// How long one query to the cluster may take.
pub(super) const QUERY_TIMEOUT: Duration = Duration::from_secs(5);
/// How often the client reports its statistics, which say where each partition ends.
const STATISTICS_EVERY_MS: &str = "1000";

pub(super) type Client = BaseConsumer<Reports>;

/// Receives the client's log lines, errors and statistics.
pub(super) struct Reports {
    watched: Arc<Watched>,
    topic: String,
    brokers: Brokers,
}

impl Reports {
    /// Whether the client has forgotten every broker, and so looks for none any more.
    pub(super) fn is_cut_off(&self) -> bool {
        self.brokers.are_forgotten()
    }
}

impl ClientContext for Reports {
    fn log(&self, _: RDKafkaLogLevel, facility: &str, message: &str) {
        tracing::debug!(facility, message, "Kafka client of an event source");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, reason, "Kafka client of an event source");
    }

    fn stats_raw(&self, statistics: &[u8]) {
        self.brokers.observe(statistics);
        let Ok(statistics) = serde_json::from_slice::<Statistics>(statistics) else { return };
        let topic = statistics.topics.get(&self.topic);
        let partitions = topic.into_iter().flat_map(|topic| &topic.partitions);
        for (partition, found) in partitions.filter(|(_, found)| found.hi_offset >= 0) {
            self.watched.record_end(*partition, found.hi_offset);
        }
    }
}

impl ConsumerContext for Reports {}

/// The client that a poller uses now. It is replaced when it may be the reason why the cluster doesn't answer: a client that
/// got an empty list of brokers while Kafka was coming back can forget every broker, and never look for one again.
pub(super) struct CurrentClient {
    client: Mutex<Arc<Client>>,
    pub(super) config: Arc<SourceConfig>,
    pub(super) watched: Arc<Watched>,
}

impl CurrentClient {
    pub(super) fn new(config: &Arc<SourceConfig>, watched: &Arc<Watched>) -> anyhow::Result<Self> {
        let client = Mutex::new(build(config, watched)?);
        Ok(Self { client, config: Arc::clone(config), watched: Arc::clone(watched) })
    }

    pub(super) fn client(&self) -> Arc<Client> {
        Arc::clone(&self.client.lock())
    }

    /// Builds a client, prepares it, and puts it in the place of the current one.
    pub(super) fn replace(&self, prepare: impl FnOnce(&Client) -> anyhow::Result<()>) -> anyhow::Result<Arc<Client>> {
        let client = build(&self.config, &self.watched)?;
        prepare(&client)?;
        log_kafka::retire(std::mem::replace(&mut *self.client.lock(), Arc::clone(&client)));
        Ok(client)
    }
}

fn build(config: &SourceConfig, watched: &Arc<Watched>) -> anyhow::Result<Arc<Client>> {
    let topic = config.spec.topic.clone();
    let context = Reports { watched: Arc::clone(watched), topic, brokers: Brokers::default() };
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
        // A broker that comes back may lead its partitions with another epoch; by default the client would ask for that
        // after five minutes.
        .set("topic.metadata.refresh.interval.ms", "5000")
        // Without a membership in the group the client looks for a lost coordinator only at this interval (10 minutes by
        // default); and a commit waits for the coordinator as long as a session lasts.
        .set("coordinator.query.interval.ms", "1000")
        .set("session.timeout.ms", "6000")
        .set("queued.max.messages.kbytes", "32768")
        .set("statistics.interval.ms", STATISTICS_EVERY_MS)
        .create_with_context(context)
        .context("the event source's Kafka client was not built")?;
    Ok(Arc::new(client))
}
