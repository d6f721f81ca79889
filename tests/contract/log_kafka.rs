//! The suites of log and feed on real Kafka, and what only Kafka can get wrong.
#![expect(clippy::panic, clippy::indexing_slicing, reason = "a test that cannot go on fails by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use delivery::ports::log::{Feed, Log};
use domain::{EndpointSetting, Position, Record, Topic};
use log_kafka::{KafkaConfig, KafkaLog, TopicSpec, create_topics, delete_topics};
use settings::{Environment, ProcessEnvironment};
use testkit::clock::ManualClock;
use testkit::contract::LogUnderTest;
use testkit::generate::{BEGIN, at, decision, dispatch, fresh_number};

mod adapter;
mod forgotten;
mod freeze;
mod full;
mod iam;
mod misdirected;
mod msk;
mod second;
mod secure;
mod tokens;
mod topics;

const BROKERS: &str = "HOWK_KAFKA_BROKERS";
/// Enough to spread keys; every one costs the broker files.
const PARTITIONS: u32 = 3;
/// How long the broker may take to compact a few records.
const COMPACTION_TICKS: u32 = 600;
const TICK: Duration = Duration::from_millis(100);

/// The brokers to test on.
fn brokers() -> Vec<String> {
    let variables = ProcessEnvironment.variables();
    let named = variables.get(BROKERS).filter(|text| !text.is_empty());
    let named = named.unwrap_or_else(|| panic!("{BROKERS} is not set: start Kafka with localstack/services up"));
    named.split(',').map(str::to_owned).collect()
}

/// Settings of a system of its own on the shared cluster.
fn fresh_config() -> KafkaConfig {
    let process = std::process::id();
    KafkaConfig::new(brokers()).prefixed(&format!("test-{process}-{}.", fresh_number()))
}

/// The topics of a test: few partitions, and compaction as soon as the broker likes.
fn fresh_specs(config: &KafkaConfig) -> Vec<TopicSpec> {
    let mut specs = config.topics.specs();
    for spec in &mut specs {
        spec.partitions = PARTITIONS;
        if spec.config["cleanup.policy"] == "compact" {
            let at_once =
                [("min.cleanable.dirty.ratio", "0.001"), ("segment.ms", "100"), ("delete.retention.ms", "0")];
            spec.config.extend(at_once.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
    }
    specs
}

struct Kafka {
    config: KafkaConfig,
    specs: Vec<TopicSpec>,
    log: Arc<KafkaLog>,
    clock: Arc<ManualClock>,
}

async fn log() -> Kafka {
    let config = fresh_config();
    let specs = fresh_specs(&config);
    create_topics(&config, &specs).await.expect("the topics are made");
    let clock = Arc::new(ManualClock::new(BEGIN));
    let log = KafkaLog::connect(config.clone(), Arc::<ManualClock>::clone(&clock)).await;
    Kafka { config, specs, log: Arc::new(log.expect("Kafka answers: is it up? localstack/services status")), clock }
}

#[async_trait]
impl LogUnderTest for Kafka {
    fn log(&self) -> Arc<dyn Log> {
        Arc::<KafkaLog>::clone(&self.log)
    }

    async fn join(&self, topic: Topic) -> Arc<dyn Feed> {
        Arc::new(self.log.join(topic).expect("the member joins"))
    }

    /// Begins a new segment in every partition, since the broker leaves the last one alone, and waits for the rest.
    async fn compact(&self, topic: Topic) -> bool {
        assert_eq!(topic, Topic::State, "the only compacted topic");
        tokio::time::sleep(TICK * 2).await;
        let fillers = self.fill_every_partition().await;
        for _ in 0..COMPACTION_TICKS {
            if self.is_compacted(&fillers).await {
                return true;
            }
            tokio::time::sleep(TICK).await;
        }
        panic!("the broker did not compact");
    }
}

impl Kafka {
    /// Writes one record to every partition of the state topic and returns their places.
    async fn fill_every_partition(&self) -> BTreeMap<u32, u64> {
        let partitions = self.log.extents(Topic::State).await.expect("the log answers").len();
        let mut filled = BTreeMap::new();
        while filled.len() < partitions {
            let last = Record::Setting(decision(&dispatch(), EndpointSetting::Active, at(0)));
            let at = self.log.publish(vec![last]).await.expect("the log takes records").remove(0);
            filled.entry(at.partition).or_insert(at.offset);
        }
        filled
    }

    /// Whether every key before the fillers has one record left.
    async fn is_compacted(&self, fillers: &BTreeMap<u32, u64>) -> bool {
        for (partition, end) in fillers {
            let mut seen: BTreeMap<String, u32> = BTreeMap::new();
            let mut from = Position { partition: *partition, offset: 0 };
            while from.offset < *end {
                let page = self.log.read(Topic::State, from, 1000).await.expect("the log reads");
                for record in page.records.iter().filter(|record| record.position.offset < *end) {
                    *seen.entry(record.value.as_ref().expect("it is readable").key()).or_default() += 1;
                }
                from.offset = page.next;
            }
            if seen.values().any(|count| *count > 1) {
                return false;
            }
        }
        true
    }
}

impl Drop for Kafka {
    /// The broker keeps files open for every topic there is.
    fn drop(&mut self) {
        let (config, specs) = (self.config.clone(), self.specs.clone());
        let deleting = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.is_ok_and(|runtime| runtime.block_on(delete_topics(&config, &specs)).is_ok())
        });
        // Topics that are left over do no harm.
        drop(deleting);
    }
}

testkit::contract_tests!(log, log);
