//! The log on Kafka.

use std::sync::Arc;
use std::time::Duration;

use delivery::Fault;
use delivery::ports::time::Clock;
use log_kafka::{Auth, ConsumerConfig, GroupConfig, KafkaConfig, ProducerConfig, Scram};
use log_kafka::{Security, TopicNames, TopicSpec};
use settings::{Kafka, KafkaAuth, Settings, ValidationError};

use crate::error::{self, WiringError};

/// The setting of a topic for how long it keeps records, in ms. Compacted topics do not have it.
const RETENTION: &str = "retention.ms";

/// The configuration of the log. `clock` decides when a token has expired.
///
/// # Errors
/// The key that cannot be used, or the cluster whose brokers AWS does not name.
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

/// Every mistake that shows when the log is connected, except those that only AWS can find; `clock` as for [`config`].
pub fn mistakes(settings: &Settings, clock: Arc<dyn Clock>) -> Vec<ValidationError> {
    let kafka = &settings.kafka;
    let cluster = kafka.cluster_arn.as_deref().map_or(Ok(()), is_cluster);
    error::mistakes([auth(kafka, clock).map(drop), cluster, authorities(kafka)])
}

/// Checks that the file of authorities can be read. The Kafka client reads it too, but reports a missing file only as a
/// client that was not built.
fn authorities(kafka: &Kafka) -> Result<(), WiringError> {
    let Some(file) = kafka.ca_file.as_ref().filter(|_| is_encrypted(kafka)) else { return Ok(()) };
    std::fs::File::open(file).map(drop).map_err(|error| {
        let problem = format!("{file} cannot be read: {error}; name a PEM file, or remove it");
        WiringError::key("kafka.ca_file", problem)
    })
}

/// The topics as they have to be made: named and kept as the settings say.
pub fn topic_specs(settings: &Settings) -> Vec<TopicSpec> {
    let retention_ms = settings.kafka.retention.as_millis().to_string();
    let mut specs = topics(&settings.kafka.topics).specs();
    for retention in specs.iter_mut().filter_map(|spec| spec.config.get_mut(RETENTION)) {
        retention.clone_from(&retention_ms);
    }
    specs
}

/// Makes the topics that are missing, and checks those that exist.
///
/// # Errors
/// When Kafka refuses to make one, or one that exists has settings that lose records.
pub async fn ensure_topics(config: &KafkaConfig, settings: &Settings) -> Result<(), Fault> {
    let specs = topic_specs(settings);
    let failed = |what: &'static str| move |fault: Fault| Fault::caused(fault.kind, what, fault);
    log_kafka::create_topics(config, &specs).await.map_err(failed("topics cannot be made"))?;
    log_kafka::verify_topics(config, &specs).await.map_err(failed("topics are set up wrongly"))
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

/// Whether the connection uses TLS. IAM works over TLS only, and so does every sign-in to a cluster of MSK.
fn is_encrypted(kafka: &Kafka) -> bool {
    let signs_in_to_msk = kafka.cluster_arn.is_some() && kafka.auth != KafkaAuth::None;
    kafka.tls || kafka.auth == KafkaAuth::Iam || signs_in_to_msk
}

/// The brokers of a cluster of MSK, as AWS names them.
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
#[expect(clippy::unused_async, reason = "a build with the feature waits for AWS")]
async fn brokers_of(_arn: &str, _: &Security) -> Result<Vec<String>, WiringError> {
    Err(WiringError::Lacking { key: "kafka.cluster_arn", feature: "msk" })
}

/// Signs in with the AWS identity of the process. The region is the cluster's or, where the settings name brokers, the one
/// of the AWS settings of the process.
#[cfg(feature = "iam")]
#[expect(clippy::unnecessary_wraps, reason = "a build without the feature fails")]
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
