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

/// One wait for an event; a feed that is dropped waits for the rest of it.
const TICK: Duration = Duration::from_millis(50);
/// How long the inbox may be full before the partitions pause. Pausing throws away what was fetched.
const FULL_MAX: Duration = Duration::from_millis(200);

/// What the thread works with. The member leaves its group when this is dropped.
pub(super) struct Pump {
    pub(super) membership: Arc<Membership>,
    pub(super) consumer: Arc<BaseConsumer<Member>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) stop: Arc<AtomicBool>,
}

impl Pump {
    /// Polls until told to stop.
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
                // Every time round, since a partition that came meanwhile flows.
                is_paused = self.assigned().and_then(|all| self.consumer.pause(&all)).is_ok() || is_paused;
                self.poll(Duration::ZERO);
            }
        }
    }

    /// Goes on as a new member. What the old one read and nobody took comes again, as when its partitions are revoked.
    fn join_again(&mut self, defect: &str) {
        tracing::warn!(topic = self.membership.topic.name(), defect, "a new member joins the group");
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
                self.consumer.context().note(read.position);
                self.membership.inbox.push(read, record::bytes_of(&message));
            }
            Some(Err(error)) => self.membership.inbox.fail(fault::of("the topic was not read", error)),
            None => {}
        }
    }
}
