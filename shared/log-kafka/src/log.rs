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
    producer: Producer,
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
        let producer = Producer::new(&config, Arc::clone(&clock))?;
        let asker = ask(&config, Topic::Pending).await?;
        let reaching = Arc::clone(&asker);
        blocking(move || reaching.reach()).await?;
        let readers = Readers::new(&config, &clock);
        Ok(Self { config, clock, producer, readers, asker, asker_slow: OnceCell::new() })
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
        self.producer.publish(&records).await
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

async fn ask(config: &Arc<KafkaConfig>, topic: Topic) -> Result<Arc<Asker>, Fault> {
    let config = Arc::clone(config);
    blocking(move || Asker::new(&config, topic).map(Arc::new)).await
}

/// Runs what blocks where it may.
async fn blocking<T: Send + 'static>(act: impl FnOnce() -> Result<T, Fault> + Send + 'static) -> Result<T, Fault> {
    tokio::task::spawn_blocking(act).await.map_err(fault::of_runtime)?
}
