//! Port `log` on Kafka.

use std::sync::Arc;

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::log::{Extent, Log, Page};
use delivery::ports::time::Clock;
use domain::{Position, Record, Topic};
use tokio::sync::OnceCell;

use crate::ask::{Asker, Asking};
use crate::config::KafkaConfig;
use crate::feed::KafkaFeed;
use crate::producer::Producer;
use crate::reader::Readers;

/// The log on a Kafka cluster.
pub struct KafkaLog {
    config: Arc<KafkaConfig>,
    clock: Arc<dyn Clock>,
    /// Publishes what somebody waits for.
    producer: Producer,
    /// Publishes what deliveries leave behind.
    producer_behind: OnceCell<Producer>,
    readers: Arc<Readers>,
    /// Of the fast lane's group.
    asking: Arc<Asking>,
    /// Of the slow lane's group.
    asking_slow: Arc<Asking>,
}

impl std::fmt::Debug for KafkaLog {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("KafkaLog").field("brokers", &self.config.brokers).finish_non_exhaustive()
    }
}

impl KafkaLog {
    /// Builds the clients and reaches a broker. It neither makes nor checks topics.
    ///
    /// # Errors
    /// A [`Fault`]: permanent when the settings cannot work, transient when no broker answers.
    pub async fn connect(config: KafkaConfig, clock: Arc<dyn Clock>) -> Result<Self, Fault> {
        let config = Arc::new(config);
        let producer = Producer::new(&config, config.producer.linger, Arc::clone(&clock))?;
        let [asking, asking_slow] =
            [Topic::Pending, Topic::Slow].map(|topic| Arc::new(Asking::new(Arc::clone(&config), topic)));
        asking.ask(Asker::reach).await?;
        let readers = Readers::new(&config, &clock);
        Ok(Self { config, clock, producer, producer_behind: OnceCell::new(), readers, asking, asking_slow })
    }

    /// Joins the consumer group of a lane's topic. The member leaves when the feed is dropped.
    ///
    /// A group that never committed begins with the oldest record (X4).
    ///
    /// # Errors
    /// A [`Fault`] when the client cannot be built.
    pub fn join(&self, topic: Topic) -> Result<KafkaFeed, Fault> {
        KafkaFeed::join(&self.config, topic, Arc::clone(&self.clock))
    }

    /// The producer of records that are published together.
    async fn producer_of(&self, records: &[Record]) -> Result<&Producer, Fault> {
        if !records.iter().all(|record| is_left_behind(record.topic())) {
            return Ok(&self.producer);
        }
        let linger = self.config.producer.linger_behind.max(self.config.producer.linger);
        let build = async || Producer::new(&self.config, linger, Arc::clone(&self.clock));
        self.producer_behind.get_or_try_init(build).await
    }
}

#[async_trait]
impl Log for KafkaLog {
    async fn publish(&self, records: Vec<Record>) -> Result<Vec<Position>, Fault> {
        self.producer_of(&records).await?.publish(&records).await
    }

    async fn extents(&self, topic: Topic) -> Result<Vec<Extent>, Fault> {
        let name = self.config.topics.of(topic).to_owned();
        self.asking.ask(move |asker| asker.extents(&name)).await
    }

    async fn read(&self, topic: Topic, from: Position, limit: usize) -> Result<Page, Fault> {
        self.readers.read(topic, from, limit).await
    }

    async fn lag(&self, topic: Topic) -> Result<u64, Fault> {
        let asking = if topic == Topic::Slow { &self.asking_slow } else { &self.asking };
        let name = self.config.topics.of(topic).to_owned();
        asking.ask(move |asker| asker.lag(&name)).await
    }
}

/// Whether nobody waits for what goes to a topic.
const fn is_left_behind(topic: Topic) -> bool {
    match topic {
        Topic::Results | Topic::DeadLetter | Topic::State => true,
        Topic::Pending | Topic::Slow => false,
    }
}
