//! The log on Kafka.

use std::sync::Arc;
use std::time::Duration;

use delivery::ports::time::Clock;
use log_kafka::{Auth, ConsumerConfig, GroupConfig, KafkaConfig, ProducerConfig, Scram};
use log_kafka::{Security, TopicNames, TopicSpec};
use settings::{Kafka, KafkaAuth, Settings, ValidationError};

use crate::error::{self, WiringError};

/// The setting of a topic that says for how many milliseconds it keeps records; compacted topics have none.
const RETENTION: &str = "retention.ms";

/// What the log is built from. Whatever ends, such as a token, is judged by `clock`.
///
/// # Errors
/// The key that cannot be used, or the cluster whose brokers are not told.
pub async fn config(settings: &Settings, clock: Arc<dyn Clock>) -> Result<KafkaConfig, WiringError> {
    let kafka = &settings.kafka;
    let security = Security { auth: auth(kafka, clock)?, tls: is_encrypted(kafka), ca_file: kafka.ca_file.clone() };
    let brokers = match &kafka.cluster_arn {
        Some(arn) => brokers_of(arn, &security).await?,
        None => kafka.brokers.clone(),
    };
    Ok(KafkaConfig {
        security,
        topics: topics(&kafka.topics),
        group: GroupConfig {
            name: kafka.consumer.group.clone(),
            session_timeout: kafka.group.session_timeout,
            heartbeat_interval: kafka.group.heartbeat_interval,
            rebalance_timeout: kafka.group.rebalance_timeout,
        },
        producer: ProducerConfig {
            linger: Duration::from_millis(u64::from(kafka.producer.linger_ms)),
            batch_bytes_max: kafka.producer.batch_size,
            compression: kafka.producer.compression.name(),
            ..ProducerConfig::default()
        },
        consumer: ConsumerConfig {
            fetch_bytes_min: kafka.consumer.fetch_min_bytes,
            fetch_wait: kafka.consumer.fetch_max_wait,
            ..ConsumerConfig::default()
        },
        ..KafkaConfig::new(brokers)
    })
}

/// Every mistake that shows when the log is connected, but for those that only AWS knows; `clock` as for [`config`].
pub fn mistakes(settings: &Settings, clock: Arc<dyn Clock>) -> Vec<ValidationError> {
    let kafka = &settings.kafka;
    let cluster = kafka.cluster_arn.as_deref().map_or(Ok(()), is_cluster);
    error::mistakes([auth(kafka, clock).map(drop), cluster, authorities(kafka)])
}

/// The client reads the file by itself, and would say of it only that it was not built.
fn authorities(kafka: &Kafka) -> Result<(), WiringError> {
    let Some(file) = kafka.ca_file.as_ref().filter(|_| is_encrypted(kafka)) else { return Ok(()) };
    std::fs::File::open(file).map(drop).map_err(|error| {
        let problem = format!("{file} cannot be read: {error}; name a PEM file, or remove it");
        WiringError::key("kafka.ca_file", problem)
    })
}

/// What the topics must be like when they are made.
pub fn topic_specs(settings: &Settings) -> Vec<TopicSpec> {
    let kept_ms = settings.kafka.retention.as_millis().to_string();
    let mut specs = topics(&settings.kafka.topics).specs();
    for retention in specs.iter_mut().filter_map(|spec| spec.config.get_mut(RETENTION)) {
        retention.clone_from(&kept_ms);
    }
    specs
}

fn auth(kafka: &Kafka, clock: Arc<dyn Clock>) -> Result<Auth, WiringError> {
    match kafka.auth {
        KafkaAuth::None => Ok(Auth::None),
        KafkaAuth::Scram => {
            let needed = |key| WiringError::key(key, "is needed for scram");
            Ok(Auth::Scram(Scram {
                username: kafka.username.clone().ok_or_else(|| needed("kafka.username"))?,
                password: kafka.password.clone().ok_or_else(|| needed("kafka.password"))?,
            }))
        }
        KafkaAuth::Iam => iam(kafka, clock),
    }
}

/// IAM is only spoken over TLS, and a cluster of MSK lets nobody sign in without.
fn is_encrypted(kafka: &Kafka) -> bool {
    let signs_in_to_msk = kafka.cluster_arn.is_some() && kafka.auth != KafkaAuth::None;
    kafka.tls || kafka.auth == KafkaAuth::Iam || signs_in_to_msk
}

/// The brokers of a cluster of MSK; AWS is asked.
#[cfg(feature = "msk")]
async fn brokers_of(arn: &str, security: &Security) -> Result<Vec<String>, WiringError> {
    let not_found = |source| WiringError::NotFound { key: "kafka.cluster_arn", source };
    log_kafka::MskCluster::parse(arn).map_err(not_found)?.brokers(security).await.map_err(not_found)
}

#[cfg(feature = "msk")]
fn is_cluster(arn: &str) -> Result<(), WiringError> {
    let parsed = log_kafka::MskCluster::parse(arn).map(drop);
    parsed.map_err(|source| WiringError::NotFound { key: "kafka.cluster_arn", source })
}

#[cfg(not(feature = "msk"))]
fn is_cluster(_: &str) -> Result<(), WiringError> {
    Err(WiringError::Lacking { key: "kafka.cluster_arn", feature: "msk" })
}

#[cfg(not(feature = "msk"))]
#[expect(clippy::unused_async, reason = "a build with it asks")]
async fn brokers_of(_arn: &str, _: &Security) -> Result<Vec<String>, WiringError> {
    Err(WiringError::Lacking { key: "kafka.cluster_arn", feature: "msk" })
}

/// With the identity of the process, in the region of the cluster or, where brokers are named, that its AWS settings name.
#[cfg(feature = "iam")]
#[expect(clippy::unnecessary_wraps, reason = "a build without it fails")]
fn iam(kafka: &Kafka, clock: Arc<dyn Clock>) -> Result<Auth, WiringError> {
    let region = kafka.cluster_arn.as_deref().and_then(|arn| arn.split(':').nth(3));
    Ok(Auth::Tokens(Arc::new(log_kafka::IamTokens::of_process(region.map(str::to_owned), clock))))
}

#[cfg(not(feature = "iam"))]
fn iam(_: &Kafka, _clock: Arc<dyn Clock>) -> Result<Auth, WiringError> {
    Err(WiringError::Lacking { key: "kafka.auth", feature: "iam" })
}

fn topics(names: &settings::Topics) -> TopicNames {
    TopicNames::new(|topic| names.of(topic).to_owned())
}
