//! The thread of a member: it polls the client and fills the inbox.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use delivery::ports::time::Clock;
use domain::{Position, Topic};
use rdkafka::ClientContext;
use rdkafka::client::OAuthToken;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::topic_partition_list::TopicPartitionList;

use crate::client::Reports;
use crate::config::KafkaConfig;
use crate::feed::inbox::Inbox;
use crate::{fault, record};

/// One wait for an event; a feed that is dropped waits for the rest of it.
const TICK: Duration = Duration::from_millis(50);
/// How long the inbox may be full before the partitions pause. Pausing throws away what was fetched.
const FULL_MAX: Duration = Duration::from_millis(200);

/// Takes the client's reports, and keeps the partitions that the member has, each with the offset of the first record that
/// came of it since it did.
pub(super) struct Member {
    reports: Reports,
    inbox: Arc<Inbox>,
    partitions: parking_lot::Mutex<BTreeMap<u32, Option<u64>>>,
}

impl Member {
    pub(super) fn new(config: &KafkaConfig, inbox: Arc<Inbox>) -> Self {
        Self { reports: Reports::new(config), inbox, partitions: parking_lot::Mutex::default() }
    }

    /// Whether a commit up to `offset` is the member's to make: the partition is its own, and what it began with comes
    /// before. A commit from the time before a partition went away and came back could move the group back otherwise.
    pub(super) fn may_commit(&self, partition: u32, offset: u64) -> bool {
        let first = self.partitions.lock().get(&partition).copied().flatten();
        first.is_some_and(|first| offset > first)
    }

    fn note(&self, position: Position) {
        if let Some(first) = self.partitions.lock().get_mut(&position.partition) {
            first.get_or_insert(position.offset);
        }
    }
}

impl ClientContext for Member {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = Reports::ENABLE_REFRESH_OAUTH_TOKEN;

    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.reports.log(level, facility, message);
    }

    fn stats_raw(&self, statistics: &[u8]) {
        self.reports.stats_raw(statistics);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.reports.error(error, reason);
    }

    fn generate_oauth_token(&self, config: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.reports.generate_oauth_token(config)
    }
}

impl ConsumerContext for Member {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let Rebalance::Revoke(revoked) = rebalance else { return };
        let revoked = partitions_of(revoked);
        self.partitions.lock().retain(|partition, _| !revoked.contains(partition));
        self.inbox.revoke(|partition| revoked.contains(&partition));
    }

    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(assigned) = rebalance {
            self.partitions.lock().extend(partitions_of(assigned).into_iter().map(|partition| (partition, None)));
        }
    }
}

fn partitions_of(list: &TopicPartitionList) -> BTreeSet<u32> {
    list.elements().iter().filter_map(|element| u32::try_from(element.partition()).ok()).collect()
}

/// What the thread works with. The member leaves its group when this is dropped.
pub(super) struct Pump {
    pub(super) topic: Topic,
    pub(super) consumer: Arc<BaseConsumer<Member>>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) stop: Arc<AtomicBool>,
}

impl Pump {
    /// Polls until told to stop.
    pub(super) fn run(self) {
        let mut is_paused = false;
        while !self.stop.load(Ordering::Relaxed) {
            if self.inbox.wait_for_room(FULL_MAX) {
                if is_paused {
                    is_paused = self.assigned().and_then(|all| self.consumer.resume(&all)).is_err();
                }
                self.poll(TICK);
            } else {
                // Every time round, since a partition that came meanwhile flows.
                is_paused = self.assigned().and_then(|all| self.consumer.pause(&all)).is_ok() || is_paused;
                self.poll(Duration::ZERO);
            }
        }
    }

    fn assigned(&self) -> KafkaResult<TopicPartitionList> {
        self.consumer.assignment()
    }

    fn poll(&self, patience: Duration) {
        match self.consumer.poll(patience) {
            Some(Ok(message)) => {
                let read = record::read(self.topic, &message, self.clock.now());
                self.consumer.context().note(read.position);
                self.inbox.push(read, record::bytes_of(&message));
            }
            Some(Err(error)) => self.inbox.fail(fault::of("the topic was not read", error)),
            None => {}
        }
    }
}
