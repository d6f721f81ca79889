//! Real Kafka and real Redis, which other programs may use too: topics, groups and keys get a prefix of this run, and are
//! removed at the end.

use std::process::id;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use clock_system::SystemClock;
use delivery::ports::log::Feed;
use log_kafka::{KafkaConfig, KafkaLog, ProducerConfig, TrafficCounter};
use redis::aio::MultiplexedConnection;
use server::system::{Backend, Lifetime};
use store_redis::{RedisConfig, RedisStore};
use wiring::Stores;

use crate::cli::ServicesOptions;
use crate::measure::realtime_us;

/// How often Kafka's clients report their traffic.
const STATISTICS_EVERY: Duration = Duration::from_millis(250);
/// How many keys are scanned and removed at once.
const KEYS_AT_ONCE: usize = 5_000;
/// Members of a consumer group, as in `server`.
const MEMBERS: usize = 2;

/// The addresses, and the prefix of this run.
#[derive(Debug, Clone)]
pub(crate) struct Services {
    pub(crate) brokers: Vec<String>,
    pub(crate) redis: String,
    pub(crate) prefix: String,
    pub(crate) kafka_pid: Option<u32>,
    pub(crate) linger: Duration,
}

/// One set of clients, which counts its traffic.
pub(crate) struct Clients {
    pub(crate) backend: Backend,
    kafka: TrafficCounter,
    store: Arc<RedisStore>,
}

/// The traffic of the clients so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Traffic {
    pub(crate) kafka_requests: u64,
    pub(crate) redis_trips: u64,
    pub(crate) redis_commands: u64,
}

impl Traffic {
    pub(crate) const fn since(self, before: Self) -> Self {
        Self {
            kafka_requests: self.kafka_requests.saturating_sub(before.kafka_requests),
            redis_trips: self.redis_trips.saturating_sub(before.redis_trips),
            redis_commands: self.redis_commands.saturating_sub(before.redis_commands),
        }
    }
}

impl Services {
    /// The services that the options name, with this run's topics created; `None` when they name none.
    ///
    /// # Errors
    /// When one of the two is missing or cannot be reached.
    pub(crate) async fn open(options: &ServicesOptions) -> anyhow::Result<Option<Self>> {
        let Some(services) = Self::named(options)? else { return Ok(None) };
        let config = services.kafka();
        log_kafka::create_topics(&config, &config.topics.specs()).await.context("topics cannot be created")?;
        Ok(Some(services))
    }

    /// The services that the options name, with nothing created yet; `None` when they name none.
    ///
    /// # Errors
    /// When one of the two is missing.
    pub(crate) fn named(options: &ServicesOptions) -> anyhow::Result<Option<Self>> {
        let brokers: Vec<String> = options.kafka.iter().filter(|broker| !broker.is_empty()).cloned().collect();
        let redis = options.redis.clone().filter(|addr| !addr.is_empty());
        let (Some(redis), false) = (redis.clone(), brokers.is_empty()) else {
            ensure!(redis.is_none() && brokers.is_empty(), "--kafka and --redis go together");
            return Ok(None);
        };
        Ok(Some(Self {
            brokers,
            redis,
            prefix: format!("load{}-{}.", id(), realtime_us() % 1_000_000),
            kafka_pid: options.kafka_pid,
            linger: Duration::from_millis(u64::from(options.linger_ms)),
        }))
    }

    /// The configuration of Kafka's clients.
    pub(crate) fn kafka(&self) -> KafkaConfig {
        let producer = ProducerConfig { linger: self.linger, ..ProducerConfig::default() };
        KafkaConfig { producer, ..KafkaConfig::new(self.brokers.clone()).prefixed(&self.prefix) }
    }

    /// New clients.
    ///
    /// # Errors
    /// When Kafka or Redis cannot be reached.
    pub(crate) async fn connect(&self) -> anyhow::Result<Clients> {
        let kafka = TrafficCounter::every(STATISTICS_EVERY);
        let config = KafkaConfig { traffic: Some(kafka.clone()), ..self.kafka() };
        let log =
            Arc::new(KafkaLog::connect(config, Arc::new(SystemClock)).await.context("Kafka cannot be reached")?);
        let config =
            RedisConfig { nodes: vec![self.redis.clone()], prefix: self.prefix.clone(), ..RedisConfig::default() };
        let store = Arc::new(RedisStore::connect(config).await.context("Redis cannot be reached")?);
        Ok(Clients { backend: backend(log, &store), kafka, store })
    }

    /// A plain connection to Redis, for bare loops and for what the store has no port for.
    ///
    /// # Errors
    /// When Redis cannot be reached.
    pub(crate) async fn plain_redis(&self) -> anyhow::Result<MultiplexedConnection> {
        let client = redis::Client::open(format!("redis://{}/", self.redis))?;
        client.get_multiplexed_async_connection().await.context("Redis cannot be reached")
    }

    /// Removes every key of this run, and returns how many there were.
    ///
    /// # Errors
    /// When Redis does not answer.
    pub(crate) async fn wipe_redis(&self) -> anyhow::Result<usize> {
        let mut redis = self.plain_redis().await?;
        let (mut cursor, mut removed) = (0_u64, 0);
        loop {
            let pattern = format!("{}*", self.prefix);
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(KEYS_AT_ONCE);
            let (next, keys): (u64, Vec<String>) = scan.query_async(&mut redis).await?;
            let mut unlink = redis::pipe();
            for key in &keys {
                unlink.cmd("UNLINK").arg(key).ignore();
            }
            // An empty pipeline is an error to the client.
            if !keys.is_empty() {
                unlink.query_async::<()>(&mut redis).await?;
            }
            removed += keys.len();
            cursor = next;
            if cursor == 0 {
                return Ok(removed);
            }
        }
    }

    /// Removes the topics and the keys of this run.
    ///
    /// # Errors
    /// When a service does not answer.
    pub(crate) async fn clean_up(self) -> anyhow::Result<()> {
        let config = self.kafka();
        log_kafka::delete_topics(&config, &config.topics.specs()).await.context("topics cannot be deleted")?;
        self.wipe_redis().await.map(drop)
    }
}

impl Clients {
    /// The traffic so far; Kafka's part lags behind until [`Self::settled`].
    pub(crate) fn traffic(&self) -> Traffic {
        let (kafka, redis) = (self.kafka.traffic(), self.store.traffic());
        Traffic { kafka_requests: kafka.requests, redis_trips: redis.round_trips, redis_commands: redis.commands }
    }

    /// The traffic so far, after a pause in which Kafka's clients have reported theirs.
    pub(crate) async fn settled(&self) -> Traffic {
        tokio::time::sleep(STATISTICS_EVERY + STATISTICS_EVERY / 4).await;
        self.traffic()
    }
}

fn backend(log: Arc<KafkaLog>, store: &Arc<RedisStore>) -> Backend {
    let groups = Arc::clone(&log);
    let join = move |topic| -> anyhow::Result<Vec<Arc<dyn Feed>>> {
        let members = (0..MEMBERS).map(|_| -> anyhow::Result<Arc<dyn Feed>> { Ok(Arc::new(groups.join(topic)?)) });
        members.collect()
    };
    Backend { log, stores: Stores::of(store), join: Arc::new(join), lifetime: Lifetime::Lasting }
}
