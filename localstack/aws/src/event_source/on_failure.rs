//! The destination of records that are given up: a topic of the same cluster. Each record is written under its own key,
//! with the reason why it was given up.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::Context;
use domain::Timestamp;
use rdkafka::ClientConfig;
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::util::Timeout;
use serde_json::json;
use serde_json::value::RawValue;

use super::batch::{Batch, EventRecord};
use super::config::SourceConfig;
use super::decide::Condition;
use super::event::Origin;
use crate::lambda::function_arn;

/// How long a record may take to be acknowledged, in ms.
const ACKNOWLEDGED_WITHIN_MS: &str = "10000";

/// Writes records that are given up.
pub(super) struct OnFailure {
    producer: FutureProducer,
    topic: String,
    config: Arc<SourceConfig>,
    origin: Origin,
}

/// A record that is given up, with the batch that it was in.
struct GivenUp<'a> {
    condition: Condition,
    batch: &'a Batch,
    record: &'a Arc<EventRecord>,
    now: Timestamp,
}

impl OnFailure {
    /// The destination of a mapping, if it has one.
    pub(super) fn of(config: &Arc<SourceConfig>) -> anyhow::Result<Option<Self>> {
        let Some(topic) = config.spec.on_failure_topic.clone() else { return Ok(None) };
        let producer = ClientConfig::new()
            .set("bootstrap.servers", config.brokers.join(","))
            .set("client.id", "howk-local")
            .set("acks", "all")
            .set("enable.idempotence", "true")
            .set("partitioner", "murmur2_random")
            .set("linger.ms", "0")
            .set("message.max.bytes", "16777216")
            .set("message.timeout.ms", ACKNOWLEDGED_WITHIN_MS)
            .create()
            .context("the producer for records that are given up was not built")?;
        Ok(Some(Self { producer, topic, config: Arc::clone(config), origin: config.origin() }))
    }

    /// Writes the records, and waits for the broker.
    pub(super) async fn write(&self, condition: Condition, batch: &Batch, now: Timestamp) -> anyhow::Result<()> {
        for record in &batch.records {
            let value = self.value(&GivenUp { condition, batch, record, now })?;
            let key = record.key.as_deref();
            let sent = FutureRecord::<[u8], str>::to(&self.topic).payload(value.as_str());
            let sent = key.into_iter().fold(sent, FutureRecord::key);
            self.producer.send(sent, Timeout::Never).await.map_err(|(error, _)| error)?;
        }
        Ok(())
    }

    fn value(&self, given_up: &GivenUp<'_>) -> anyhow::Result<String> {
        let GivenUp { condition, batch, record, now } = given_up;
        let payload = self.origin.event(std::slice::from_ref(*record));
        let (at, place) = (UNIX_EPOCH + Duration::from_millis(now.as_ms()), record.place);
        let value = json!({
            "requestContext": {
                "functionArn": function_arn(&self.config.spec.function),
                "condition": condition.name(),
                "approximateInvokeCount": batch.failures,
            },
            "version": "1.0",
            "timestamp": humantime::format_rfc3339_millis(at).to_string(),
            "KafkaBatchInfo": {
                "batchSize": batch.records.len(),
                "eventSourceArn": Origin::arn(),
                "bootstrapServers": self.origin.brokers,
                "payloadSize": payload.len(),
                "recordInfo": { "partition": place.partition, "offset": place.offset, "timestamp": record.at_ms },
            },
        });
        let payload = RawValue::from_string(payload)?;
        let mut value = value.to_string();
        // The event is appended as it was written, byte for byte.
        value.truncate(value.len() - 1);
        Ok(format!("{value},\"payload\":{payload}}}"))
    }
}
