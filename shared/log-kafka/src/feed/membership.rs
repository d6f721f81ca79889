//! A member of the group of a topic, and its replacement by another one.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use delivery::Fault;
use domain::{Position, Topic};
use rdkafka::ClientContext;
use rdkafka::client::OAuthToken;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::KafkaError;
use rdkafka::topic_partition_list::TopicPartitionList;

use crate::client::{self, Reports};
use crate::config::KafkaConfig;
use crate::fault;
use crate::feed::inbox::Inbox;
use crate::statistics::{Standstill, Statistics};

/// Joins the group of a topic, and knows the present member.
pub(super) struct Membership {
    pub(super) topic: Topic,
    pub(super) inbox: Arc<Inbox>,
    config: KafkaConfig,
    present: parking_lot::Mutex<Weak<BaseConsumer<Member>>>,
}

impl Membership {
    pub(super) fn new(config: &KafkaConfig, topic: Topic) -> Self {
        let inbox = Arc::new(Inbox::new(config.consumer.queue_bytes_max));
        Self { topic, inbox, config: config.clone(), present: parking_lot::Mutex::default() }
    }

    /// The topic's name in the cluster.
    pub(super) fn topic_name(&self) -> &str {
        self.config.topics.of(self.topic)
    }

    /// Joins with a new client, which is the present member from now on. It leaves when its last reference is dropped.
    pub(super) fn join(&self) -> Result<Arc<BaseConsumer<Member>>, Fault> {
        let failed = |error| fault::of(format!("the consumer group of {} was not joined", self.topic_name()), error);
        let member = Member::new(&self.config, Arc::clone(&self.inbox));
        let consumer: BaseConsumer<Member> =
            client::member(&self.config, self.topic).create_with_context(member).map_err(failed)?;
        consumer.subscribe(&[self.topic_name()]).map_err(failed)?;
        let consumer = Arc::new(consumer);
        *self.present.lock() = Arc::downgrade(&consumer);
        Ok(consumer)
    }

    /// The present member, unless it has left.
    pub(super) fn present(&self) -> Option<Arc<BaseConsumer<Member>>> {
        self.present.lock().upgrade()
    }
}

/// Receives the client's reports, and keeps the assigned partitions, each with the offset of the first record that was read
/// of it since the assignment.
pub(super) struct Member {
    reports: Reports,
    standstill: Standstill,
    inbox: Arc<Inbox>,
    partitions: parking_lot::Mutex<BTreeMap<u32, Option<u64>>>,
    is_replaced: AtomicBool,
}

impl Member {
    fn new(config: &KafkaConfig, inbox: Arc<Inbox>) -> Self {
        let (partitions, is_replaced) = (parking_lot::Mutex::default(), AtomicBool::new(false));
        Self { reports: Reports::new(config), standstill: Standstill::default(), inbox, partitions, is_replaced }
    }

    /// Lets another member replace this one. The inbox belongs to the other one from now on, whenever this one leaves.
    pub(super) fn make_way(&self) {
        self.is_replaced.store(true, Ordering::Relaxed);
        self.inbox.revoke(|_| true);
    }

    /// Whether the member may commit up to `offset`: it has the partition, and the first record that it read of it comes before.
    /// Otherwise a commit from before a partition was revoked and assigned again could move the group back.
    pub(super) fn may_commit(&self, partition: u32, offset: u64) -> bool {
        let first = self.partitions.lock().get(&partition).copied().flatten();
        first.is_some_and(|first| offset > first)
    }

    /// Why this member must be replaced, if it must.
    pub(super) fn defect(&self) -> Option<&'static str> {
        if self.reports.has_forgotten_brokers() {
            Some("its client has forgotten all brokers")
        } else if self.standstill.lasts() {
            Some("its client does not fetch every assigned partition")
        } else {
            None
        }
    }

    fn forget(&self, revoked: &BTreeSet<u32>) {
        self.partitions.lock().retain(|partition, _| !revoked.contains(partition));
        if !self.is_replaced.load(Ordering::Relaxed) {
            self.inbox.revoke(|partition| revoked.contains(&partition));
        }
    }

    /// Resumes partitions that are assigned. The client keeps the pause of a partition even while another member has it: a
    /// partition that was revoked while it was paused would come back paused, and would not be read.
    fn unpause(&self, consumer: &BaseConsumer<Self>, assigned: &TopicPartitionList) {
        if let Err(error) = consumer.resume(assigned) {
            self.inbox.fail(fault::of("assigned partitions could not be resumed", error));
        }
    }

    /// Records the position of the first record of a partition.
    pub(super) fn record_first(&self, position: Position) {
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

    fn stats_raw(&self, text: &[u8]) {
        let Some(statistics) = Statistics::parse(text) else { return };
        self.reports.observe(&statistics);
        let assigned = self.partitions.lock().keys().copied().collect();
        self.standstill.observe(&statistics, &assigned);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.reports.error(error, reason);
    }

    fn generate_oauth_token(&self, config: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.reports.generate_oauth_token(config)
    }
}

impl ConsumerContext for Member {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        match rebalance {
            Rebalance::Assign(assigned) => self.unpause(consumer, assigned),
            Rebalance::Revoke(revoked) => self.forget(&partitions_of(revoked)),
            Rebalance::Error(_) => {}
        }
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
