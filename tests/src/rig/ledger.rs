//! What the log says became of webhooks: `howk.results` and `howk.deadletter`, read as far as they go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use clock_system::SystemClock;
use delivery::Fault;
use delivery::ports::log::{Log, LogRecord};
use domain::{Attempt, Phase, Position, ReasonType, Record, Topic, Undecodable, WebhookId};
use log_kafka::{GroupConfig, KafkaConfig, KafkaLog};

use crate::rig::pair::Pair;
use crate::rig::servers::Setup;

/// Records read together. Some may be large.
const PAGE: usize = 500;

/// What is known of one webhook.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// Its requests, as they were recorded.
    pub attempts: Vec<Attempt>,
    /// The first of them that delivered it.
    pub delivered: Option<u32>,
    /// Whether one of them gave it up.
    pub dead: bool,
    /// Its dead letters.
    pub dead_letters: Vec<ReasonType>,
}

impl Entry {
    /// Whether nothing more will come of it.
    pub const fn has_ended(&self) -> bool {
        self.delivered.is_some() || !self.dead_letters.is_empty()
    }
}

/// The books of one run.
#[derive(Debug)]
pub struct Ledger {
    /// The log that they are read from.
    pub log: Arc<KafkaLog>,
    /// By webhook.
    pub entries: BTreeMap<WebhookId, Entry>,
    /// Where records stood that could not be read: topic and position. A dead letter of one may be there twice.
    pub undecodable: BTreeSet<(String, Position)>,
    /// Dead letters of such records, by the reason without its place in the record.
    pub reasons: BTreeMap<String, u64>,
    next: BTreeMap<(Topic, u32), u64>,
}

impl Ledger {
    /// Opens the books.
    ///
    /// # Panics
    /// When Kafka cannot be reached.
    pub async fn open(pair: &Pair, setup: &Setup) -> Self {
        let config = KafkaConfig {
            topics: setup.topics(),
            group: GroupConfig { name: setup.group(), ..GroupConfig::default() },
            ..KafkaConfig::new(vec![pair.brokers()])
        };
        let log = KafkaLog::connect(config, Arc::new(SystemClock)).await.unwrap();
        Self {
            log: Arc::new(log),
            entries: BTreeMap::new(),
            undecodable: BTreeSet::new(),
            reasons: BTreeMap::new(),
            next: BTreeMap::new(),
        }
    }

    /// Reads on to the present end; returns how many records that were.
    ///
    /// # Errors
    /// What keeps the log from being read; what was read until then stands.
    pub async fn read_on(&mut self) -> Result<usize, Fault> {
        Ok(self.read_topic(Topic::Results).await? + self.read_topic(Topic::DeadLetter).await?)
    }

    async fn read_topic(&mut self, topic: Topic) -> Result<usize, Fault> {
        let mut count = 0;
        for extent in self.log.extents(topic).await? {
            let place = (topic, extent.partition);
            let mut offset = self.next.get(&place).copied().unwrap_or(extent.start);
            while offset < extent.end {
                let page = self.log.read(topic, Position { partition: extent.partition, offset }, PAGE).await?;
                count += page.records.len();
                page.records.into_iter().for_each(|record| self.add(record));
                offset = page.next.max(offset + 1);
                self.next.insert(place, offset);
            }
        }
        Ok(count)
    }

    fn add(&mut self, LogRecord { value, position }: LogRecord) {
        match value {
            Ok(Record::Result(result)) => {
                let entry = self.entries.entry(result.status.id).or_default();
                if result.status.phase == Phase::Delivered {
                    let number = result.attempt.number;
                    entry.delivered = Some(entry.delivered.map_or(number, |first| first.min(number)));
                }
                entry.dead |= result.status.phase == Phase::Dead;
                entry.attempts.push(result.attempt);
            }
            Ok(Record::DeadLetter(dead_letter)) => {
                let id = dead_letter.dispatch.webhook.id.clone();
                self.entries.entry(id).or_default().dead_letters.push(dead_letter.reason_type);
            }
            Ok(Record::Undecodable(Undecodable { topic, position, error, .. })) => {
                let reason = error.split(" at line ").next().unwrap_or_default();
                *self.reasons.entry(reason.to_owned()).or_default() += 1;
                self.undecodable.insert((topic, position));
            }
            Ok(other) => panic!("{} does not belong at {position:?}", other.topic().name()),
            Err(found) => panic!("howk wrote at {position:?} what it cannot read: {}", found.error),
        }
    }
}
