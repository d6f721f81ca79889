//! What the bare loops do with Kafka and Redis: the same I/O as howk's, with as little work as possible.

use std::time::Duration;

use anyhow::{Context, ensure};
use log_kafka::{KafkaConfig, ProducerConfig};
use rdkafka::ClientConfig;
use rdkafka::producer::{FutureProducer, FutureRecord};
use redis::aio::MultiplexedConnection;

use crate::services::Services;

/// A short script that reads and writes one hash, as howk's do.
const SCRIPT: &str = "local n = redis.call('HINCRBY', KEYS[1], 'n', 1) \
                      redis.call('HSET', KEYS[1], 'v', ARGV[1]) redis.call('PEXPIRE', KEYS[1], ARGV[2]) \
                      return {n, redis.call('HGET', KEYS[1], 'v')}";
/// Different keys of each kind.
const KEYS: u32 = 10_000;

/// Two scripts in two slots, sent together.
pub(crate) struct Scripts {
    connection: MultiplexedConnection,
    hash: String,
    prefix: String,
}

impl Scripts {
    /// # Errors
    /// When Redis does not answer.
    pub(crate) async fn load(services: &Services) -> anyhow::Result<Self> {
        let mut connection = services.plain_redis().await?;
        let hash = redis::cmd("SCRIPT").arg("LOAD").arg(SCRIPT).query_async(&mut connection).await?;
        Ok(Self { connection, hash, prefix: services.prefix.clone() })
    }

    /// # Errors
    /// When Redis does not answer.
    pub(crate) async fn run(&self, n: u32) -> anyhow::Result<()> {
        futures::try_join!(self.one("a", n), self.one("b", n)).map(drop)
    }

    async fn one(&self, kind: &str, n: u32) -> anyhow::Result<()> {
        let mut cmd = redis::cmd("EVALSHA");
        let key = format!("{}{{{kind}:{}}}", self.prefix, n % KEYS);
        cmd.arg(&self.hash).arg(1).arg(key).arg("0123456789abcdef0123456789abcdef").arg(60_000);
        let answer: (u64, String) = cmd.query_async(&mut self.connection.clone()).await?;
        ensure!(answer.0 > 0, "the script counts from 1");
        Ok(())
    }
}

/// Sends records and awaits each acknowledgement.
pub(crate) struct Records {
    producer: FutureProducer,
    topic: String,
    keys: u32,
}

impl Records {
    /// Sends to the topic of results, with a key of its own for each record.
    ///
    /// # Errors
    /// When the client cannot be built.
    pub(crate) fn new(services: &Services) -> anyhow::Result<Self> {
        let config = services.kafka();
        let topic = config.topics.results.clone();
        Ok(Self { producer: producer(&config)?, topic, keys: u32::MAX })
    }

    /// Sends to the topic of pending webhooks, with as many keys as there are tenants.
    ///
    /// # Errors
    /// When the client cannot be built.
    pub(crate) fn pending(services: &Services, tenants: u32) -> anyhow::Result<Self> {
        let config = services.kafka();
        let topic = config.topics.pending.clone();
        Ok(Self { producer: producer(&config)?, topic, keys: tenants.max(1) })
    }

    /// # Errors
    /// When it is not acknowledged.
    pub(crate) async fn send(&self, n: u32, value: &[u8]) -> anyhow::Result<()> {
        let key = format!("wh_{:026}", n % self.keys);
        let record = FutureRecord::to(&self.topic).key(key.as_bytes()).payload(value);
        let sent = self.producer.send(record, Duration::ZERO).await;
        sent.map(drop).map_err(|(error, _)| error).context("a record was not acknowledged")
    }
}

/// A producer that is set up as howk's.
fn producer(config: &KafkaConfig) -> anyhow::Result<FutureProducer> {
    let ProducerConfig { linger, batch_bytes_max, compression, .. } = config.producer.clone();
    let built = ClientConfig::new()
        .set("bootstrap.servers", config.brokers.join(","))
        .set("acks", "all")
        .set("enable.idempotence", "true")
        .set("partitioner", "murmur2_random")
        .set("compression.type", compression)
        .set("linger.ms", (linger.as_secs_f64() * 1000.0).to_string())
        .set("batch.size", batch_bytes_max.to_string())
        .create();
    built.context("the producer was not built")
}
