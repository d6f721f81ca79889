//! The event source on real Kafka, with a scripted Invoke API.

mod batches;
mod failures;
mod forgotten;
mod partial;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clock_system::SystemClock;
use howk_local::event_source::{EventSource, SourceConfig};
use howk_local::spec::EventSourceSpec;
use log_kafka::{KafkaConfig, TopicSpec, create_topics, delete_topics};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::util::Timeout;
use rdkafka::{Offset, TopicPartitionList};
use serde_json::Value;
use settings::{Environment, ProcessEnvironment};
use testkit::generate::fresh_number;

use crate::emulator::{Asked, Emulator};
use crate::rig::until;

const BROKERS: &str = "HOWK_KAFKA_BROKERS";
const TIMEOUT: Duration = Duration::from_secs(10);

/// A topic of one test.
struct Topic {
    name: String,
    partitions: i32,
    producer: FutureProducer,
}

fn brokers() -> Vec<String> {
    let variables = ProcessEnvironment.variables();
    let named = variables.get(BROKERS).filter(|text| !text.is_empty());
    let named = named.unwrap_or_else(|| panic!("{BROKERS} is not set: start Kafka with localstack/services up"));
    named.split(',').map(str::to_owned).collect()
}

fn client() -> ClientConfig {
    let mut client = ClientConfig::new();
    client.set("bootstrap.servers", brokers().join(","));
    client
}

impl Topic {
    async fn new(partitions: u32) -> Self {
        let topic = Self::named(partitions);
        topic.make().await;
        topic
    }

    /// A topic that does not exist until [`Self::make`].
    fn named(partitions: u32) -> Self {
        let name = format!("test-{}-{}.source", std::process::id(), fresh_number());
        let producer =
            client().set("linger.ms", "0").set("acks", "all").set("message.max.bytes", "10485760").create().unwrap();
        Self { name, partitions: i32::try_from(partitions).unwrap(), producer }
    }

    async fn make(&self) {
        let settings = BTreeMap::from([("max.message.bytes".to_owned(), "10485760".to_owned())]);
        let partitions = u32::try_from(self.partitions).unwrap();
        let spec = TopicSpec { name: self.name.clone(), partitions, config: settings };
        create_topics(&KafkaConfig::new(brokers()), &[spec]).await.unwrap();
    }

    /// Writes a record, and returns its offset.
    async fn write(&self, partition: i32, value: &str) -> i64 {
        let record = FutureRecord::to(&self.name).partition(partition).key("key").payload(value);
        self.send(record).await
    }

    async fn write_all(&self, partition: i32, values: impl IntoIterator<Item = String>) {
        let values: Vec<String> = values.into_iter().collect();
        futures::future::join_all(values.iter().map(|value| self.write(partition, value))).await;
    }

    async fn send(&self, record: FutureRecord<'_, str, str>) -> i64 {
        self.producer.send(record, Timeout::Never).await.unwrap().offset
    }

    fn spec(&self) -> EventSourceSpec {
        EventSourceSpec { window: Duration::from_millis(200), ..EventSourceSpec::new("lane", &self.name) }
    }

    fn group(&self) -> String {
        format!("{}-group", self.name)
    }

    fn source(&self, spec: EventSourceSpec, emulator: &Emulator) -> EventSource {
        self.source_at(brokers(), spec, emulator)
    }

    fn source_at(&self, brokers: Vec<String>, spec: EventSourceSpec, emulator: &Emulator) -> EventSource {
        EventSource::start(SourceConfig {
            spec,
            brokers,
            group: self.group(),
            invoker: emulator.invoker.clone(),
            clock: Arc::new(SystemClock),
        })
        .unwrap()
    }

    /// The next offset of the group, if it committed one.
    fn committed(&self, partition: i32) -> Option<i64> {
        let consumer: BaseConsumer = client().set("group.id", self.group()).create().unwrap();
        let mut asked = TopicPartitionList::new();
        asked.add_partition(&self.name, partition);
        let found = consumer.committed_offsets(asked, TIMEOUT).unwrap();
        if let Offset::Offset(offset) = found.elements()[0].offset() { Some(offset) } else { None }
    }

    async fn until_committed(&self, partition: i32, next: i64) {
        let what = format!("partition {partition} is committed up to {next}");
        until(&what, async || self.committed(partition) == Some(next)).await;
    }

    /// The key and value of every record of the topic.
    fn records(&self) -> Vec<(Option<Vec<u8>>, String)> {
        let consumer: BaseConsumer = client().set("group.id", "reader").create().unwrap();
        let mut list = TopicPartitionList::new();
        let mut left = 0;
        for partition in 0..self.partitions {
            let (first, next) = consumer.fetch_watermarks(&self.name, partition, TIMEOUT).unwrap();
            left += next - first;
            list.add_partition_offset(&self.name, partition, Offset::Beginning).unwrap();
        }
        consumer.assign(&list).unwrap();
        let mut records = Vec::new();
        while i64::try_from(records.len()).unwrap() < left {
            let record = consumer.poll(TIMEOUT).expect("a record").unwrap();
            let value = String::from_utf8(rdkafka::Message::payload(&record).unwrap().to_vec()).unwrap();
            records.push((rdkafka::Message::key(&record).map(<[u8]>::to_vec), value));
        }
        records
    }
}

impl Drop for Topic {
    /// Deletes the topic, because the broker keeps files open for each one.
    fn drop(&mut self) {
        let spec = TopicSpec { name: self.name.clone(), partitions: 1, config: BTreeMap::new() };
        let deleting = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(delete_topics(&KafkaConfig::new(brokers()), &[spec])).ok()
        });
        // A topic that can't be deleted does no harm.
        drop(deleting);
    }
}

/// The records of an event: partition, offset and value.
fn records(asked: &Asked) -> Vec<(i64, i64, String)> {
    let mut records = Vec::new();
    for (_, of_partition) in asked.event["records"].as_object().unwrap() {
        for record in of_partition.as_array().unwrap() {
            let value = record["value"].as_str().map(|value| STANDARD.decode(value).unwrap()).unwrap_or_default();
            let place = (record["partition"].as_i64().unwrap(), record["offset"].as_i64().unwrap());
            records.push((place.0, place.1, String::from_utf8(value).unwrap()));
        }
    }
    records
}

/// The values of an event, in its order.
fn values(asked: &Asked) -> Vec<String> {
    records(asked).into_iter().map(|(_, _, value)| value).collect()
}

/// A partial response that names records of a topic.
fn failed(topic: &str, places: &[(i32, i64)]) -> String {
    let named = places.iter().map(|(partition, offset)| {
        format!(r#"{{"itemIdentifier":{{"partition":"{topic}-{partition}","offset":{offset}}}}}"#)
    });
    format!(r#"{{"batchItemFailures":[{}]}}"#, named.collect::<Vec<_>>().join(","))
}

/// Headers in their order.
fn headers(pairs: &[(&str, &[u8])]) -> OwnedHeaders {
    pairs
        .iter()
        .fold(OwnedHeaders::new(), |headers, (key, value)| headers.insert(Header { key, value: Some(*value) }))
}

fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

/// The JSON of the only record of an event.
fn only_record(asked: &Asked) -> Value {
    let partitions = asked.event["records"].as_object().unwrap();
    partitions.values().next().unwrap()[0].clone()
}
