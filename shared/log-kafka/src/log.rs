//! Port `log` on Kafka.

use std::sync::Arc;

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::log::{Extent, Log, Page};
use delivery::ports::time::Clock;
use domain::{Position, Record, Topic};
use tokio::sync::OnceCell;

use crate::ask::Asker;
use crate::config::KafkaConfig;
use crate::feed::KafkaFeed;
use crate::producer::Producer;
use crate::reader::Readers;
use crate::{client, fault};

/// The log on a Kafka cluster.
pub struct KafkaLog {
    config: Arc<KafkaConfig>,
    clock: Arc<dyn Clock>,
    /// Publishes what somebody waits for.
    producer: Producer,
    /// Publishes what deliveries leave behind.
    producer_behind: OnceCell<Producer>,
    readers: Arc<Readers>,
    /// Knows the fast lane's group.
    asker: Arc<Asker>,
    /// Knows the slow lane's group.
    asker_slow: OnceCell<Arc<Asker>>,
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
        let asker = ask(&config, Topic::Pending).await?;
        let reaching = Arc::clone(&asker);
        blocking(move || reaching.reach()).await?;
        let readers = Readers::new(&config, &clock);
        let (producer_behind, asker_slow) = (OnceCell::new(), OnceCell::new());
        Ok(Self { config, clock, producer, producer_behind, readers, asker, asker_slow })
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

    /// The client that knows the group of a topic.
    async fn asker(&self, topic: Topic) -> Result<Arc<Asker>, Fault> {
        if topic != Topic::Slow {
            return Ok(Arc::clone(&self.asker));
        }
        self.asker_slow.get_or_try_init(|| ask(&self.config, topic)).await.map(Arc::clone)
    }
}

#[async_trait]
impl Log for KafkaLog {
    async fn publish(&self, records: Vec<Record>) -> Result<Vec<Position>, Fault> {
        self.producer_of(&records).await?.publish(&records).await
    }

    async fn extents(&self, topic: Topic) -> Result<Vec<Extent>, Fault> {
        let (asker, name) = (Arc::clone(&self.asker), self.config.topics.of(topic).to_owned());
        blocking(move || asker.extents(&name)).await
    }

    async fn read(&self, topic: Topic, from: Position, limit: usize) -> Result<Page, Fault> {
        self.readers.read(topic, from, limit).await
    }

    async fn lag(&self, topic: Topic) -> Result<u64, Fault> {
        let (asker, name) = (self.asker(topic).await?, self.config.topics.of(topic).to_owned());
        blocking(move || asker.lag(&name)).await
    }
}

impl Drop for KafkaLog {
    fn drop(&mut self) {
        client::retire((Arc::clone(&self.asker), self.asker_slow.take()));
    }
}

/// Whether nobody waits for what goes to a topic.
const fn is_left_behind(topic: Topic) -> bool {
    match topic {
        Topic::Results | Topic::DeadLetter | Topic::State => true,
        Topic::Pending | Topic::Slow => false,
    }
}

async fn ask(config: &Arc<KafkaConfig>, topic: Topic) -> Result<Arc<Asker>, Fault> {
    let config = Arc::clone(config);
    blocking(move || Asker::new(&config, topic).map(Arc::new)).await
}

/// Runs what blocks where it may.
async fn blocking<T: Send + 'static>(act: impl FnOnce() -> Result<T, Fault> + Send + 'static) -> Result<T, Fault> {
    tokio::task::spawn_blocking(act).await.map_err(fault::of_runtime)?
}
