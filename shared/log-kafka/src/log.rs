//! Port `log` on Kafka.

use std::sync::Arc;

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::log::{Extent, Log, Page};
use delivery::ports::time::Clock;
use domain::{Position, Record, Topic};
use tokio::sync::OnceCell;

use crate::config::KafkaConfig;
use crate::feed::KafkaFeed;
use crate::producer::Producer;
use crate::query::{Queries, QueryClient};
use crate::reader::Readers;

/// The log on a Kafka cluster.
pub struct KafkaLog {
    config: Arc<KafkaConfig>,
    clock: Arc<dyn Clock>,
    /// Publishes records that a caller waits for.
    producer: Producer,
    /// Publishes the results, snapshots, tombstones and dead letters of deliveries.
    results_producer: OnceCell<Producer>,
    readers: Arc<Readers>,
    /// About the fast lane's group.
    queries: Arc<Queries>,
    /// About the slow lane's group.
    slow_queries: Arc<Queries>,
}

impl std::fmt::Debug for KafkaLog {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("KafkaLog").field("brokers", &self.config.brokers).finish_non_exhaustive()
    }
}

impl KafkaLog {
    /// Builds the clients and connects to a broker. It neither makes nor checks topics.
    ///
    /// # Errors
    /// A [`Fault`]: permanent when the settings cannot work, transient when no broker answers.
    pub async fn connect(config: KafkaConfig, clock: Arc<dyn Clock>) -> Result<Self, Fault> {
        let config = Arc::new(config);
        let producer = Producer::new(&config, config.producer.linger, Arc::clone(&clock))?;
        let [queries, slow_queries] =
            [Topic::Pending, Topic::Slow].map(|topic| Arc::new(Queries::new(Arc::clone(&config), topic)));
        queries.query(QueryClient::reach).await?;
        let readers = Readers::new(&config, &clock);
        Ok(Self { config, clock, producer, results_producer: OnceCell::new(), readers, queries, slow_queries })
    }

    /// Joins the consumer group of a lane's topic. The member leaves when the feed is dropped.
    ///
    /// A group without a committed offset begins with the oldest record (X4).
    ///
    /// # Errors
    /// A [`Fault`] when the client cannot be built.
    pub fn join(&self, topic: Topic) -> Result<KafkaFeed, Fault> {
        KafkaFeed::join(&self.config, topic, Arc::clone(&self.clock))
    }

    /// The producer of records that are published together.
    async fn producer_of(&self, records: &[Record]) -> Result<&Producer, Fault> {
        if !records.iter().all(|record| is_of_deliveries(record.topic())) {
            return Ok(&self.producer);
        }
        let linger = self.config.producer.linger_behind.max(self.config.producer.linger);
        let build = async || Producer::new(&self.config, linger, Arc::clone(&self.clock));
        self.results_producer.get_or_try_init(build).await
    }
}

#[async_trait]
impl Log for KafkaLog {
    async fn publish(&self, records: Vec<Record>) -> Result<Vec<Position>, Fault> {
        self.producer_of(&records).await?.publish(&records).await
    }

    async fn extents(&self, topic: Topic) -> Result<Vec<Extent>, Fault> {
        let name = self.config.topics.of(topic).to_owned();
        self.queries.query(move |client| client.extents(&name)).await
    }

    async fn read(&self, topic: Topic, from: Position, limit: usize) -> Result<Page, Fault> {
        self.readers.read(topic, from, limit).await
    }

    async fn lag(&self, topic: Topic) -> Result<u64, Fault> {
        let queries = if topic == Topic::Slow { &self.slow_queries } else { &self.queries };
        let name = self.config.topics.of(topic).to_owned();
        queries.query(move |client| client.lag(&name)).await
    }
}

/// Whether a topic takes records of deliveries, which no caller waits for.
const fn is_of_deliveries(topic: Topic) -> bool {
    match topic {
        Topic::Results | Topic::DeadLetter | Topic::State => true,
        Topic::Pending | Topic::Slow => false,
    }
}
