//! The thread of a member: it polls the client and fills the inbox.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use delivery::ports::time::Clock;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaResult;
use rdkafka::topic_partition_list::TopicPartitionList;

use crate::feed::membership::{Member, Membership};
use crate::{client, fault, record};

/// One wait for an event. A feed that is dropped waits for the rest of it, so it is short.
const TICK: Duration = Duration::from_millis(50);
/// How long the inbox may be full before the partitions pause. Pausing discards what the client has fetched, so a caller that
/// is busy for a moment must not cause it.
const FULL_MAX: Duration = Duration::from_millis(200);

/// The state of the thread. The member leaves its group when this is dropped.
pub(super) struct Pump {
    pub(super) membership: Arc<Membership>,
    pub(super) consumer: Arc<BaseConsumer<Member>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) stop: Arc<AtomicBool>,
}

impl Pump {
    /// Polls until the feed is dropped.
    pub(super) fn run(mut self) {
        let mut is_paused = false;
        while !self.stop.load(Ordering::Relaxed) {
            if let Some(defect) = self.consumer.context().defect() {
                self.join_again(defect);
            }
            if self.membership.inbox.wait_for_room(FULL_MAX) {
                if is_paused {
                    is_paused = self.assigned().and_then(|all| self.consumer.resume(&all)).is_err();
                }
                self.poll(TICK);
            } else {
                // In every round, since a partition that was assigned meanwhile is not paused.
                is_paused = self.assigned().and_then(|all| self.consumer.pause(&all)).is_ok() || is_paused;
                self.poll(Duration::ZERO);
            }
        }
    }

    /// Goes on as a new member. Records that the old one read and the caller did not take are redelivered, as when partitions are
    /// revoked.
    fn join_again(&mut self, defect: &str) {
        tracing::warn!(
            topic = self.membership.topic.name(),
            defect,
            "the member is replaced: a new one joins its consumer group"
        );
        match self.membership.join() {
            Ok(consumer) => {
                self.consumer.context().make_way();
                client::retire(std::mem::replace(&mut self.consumer, consumer));
            }
            Err(fault) => self.membership.inbox.fail(fault),
        }
    }

    fn assigned(&self) -> KafkaResult<TopicPartitionList> {
        self.consumer.assignment()
    }

    fn poll(&self, timeout: Duration) {
        match self.consumer.poll(timeout) {
            Some(Ok(message)) => {
                let read = record::read(self.membership.topic, &message, self.clock.now());
                self.consumer.context().record_first(read.position);
                self.membership.inbox.push(read, record::bytes_of(&message));
            }
            Some(Err(error)) => self.membership.inbox.fail(fault::of("the topic was not read", error)),
            None => {}
        }
    }
}
