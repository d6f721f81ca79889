//! Port `feed` on Kafka: one member of a consumer group.
//!
//! A thread of its own polls the client, whether the caller wants records or not: so the member answers its group while its
//! caller is busy, a new member never waits for a busy one, and records of a partition that another member was assigned are
//! removed before the caller gets them (X11). Records that were read and not taken are bounded; when the bound is reached
//! for a while, the partitions pause. Only the caller commits. Concurrent commits share one request, and there is a distance
//! between requests: records whose commit waits a moment are at most redelivered.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use async_trait::async_trait;
use delivery::ports::log::{Feed, LogRecord};
use delivery::ports::time::Clock;
use delivery::{Fault, FaultKind};
use domain::{Position, Topic};
use rdkafka::consumer::Consumer;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use tokio::time::{Interval, MissedTickBehavior};

use crate::commit::commit;
use crate::config::KafkaConfig;
use crate::fault;
use crate::feed::membership::Membership;
use crate::feed::pump::Pump;
use crate::query::number;

mod inbox;
mod membership;
mod pump;

/// The least time between two commit requests. A broker writes each commit to a topic, and twenty a second and member is
/// little; records of 50 ms are few to be redelivered.
const COMMIT_EVERY: Duration = Duration::from_millis(50);
/// How long a feed that is dropped waits for its member to leave the group: leaving is one request, and a member that does not
/// leave is removed after its session timeout anyway.
const LEAVE_MAX: Duration = Duration::from_secs(5);

/// A member of a topic's consumer group. It leaves when it is dropped, which waits for that, 5 s at most.
pub struct KafkaFeed {
    membership: Arc<Membership>,
    commits: Commits,
    stop: Arc<AtomicBool>,
    ended: parking_lot::Mutex<mpsc::Receiver<()>>,
}

/// The offsets to commit.
#[derive(Default)]
struct Commits {
    wanted: parking_lot::Mutex<BTreeMap<u32, u64>>,
    /// Held by the request under way; the interval says when the next one may be sent.
    turn: tokio::sync::Mutex<Option<Interval>>,
}

impl KafkaFeed {
    pub(crate) fn join(config: &KafkaConfig, topic: Topic, clock: Arc<dyn Clock>) -> Result<Self, Fault> {
        let membership = Arc::new(Membership::new(config, topic));
        let consumer = membership.join()?;
        let stop = Arc::new(AtomicBool::new(false));
        let pump = Pump { membership: Arc::clone(&membership), consumer, clock, stop: Arc::clone(&stop) };
        let (end, ended) = mpsc::channel();
        let thread = std::thread::Builder::new().name("kafka-feed".to_owned());
        let running = thread.spawn(move || {
            pump.run();
            // There is no receiver any more when the feed has waited long enough.
            drop(end);
        });
        running.map_err(|error| Fault::caused(FaultKind::Transient, "no thread to read with", error))?;
        let commits = Commits::default();
        Ok(Self { membership, commits, stop, ended: parking_lot::Mutex::new(ended) })
    }
}

#[async_trait]
impl Feed for KafkaFeed {
    async fn next(&self, max: usize) -> Result<Vec<LogRecord>, Fault> {
        self.membership.inbox.next(max).await
    }

    /// A partition that another member has by now is skipped: its records are redelivered to that member.
    async fn commit(&self, position: Position) -> Result<(), Fault> {
        self.commits.want(position.partition, position.offset);
        let mut turn = self.commits.turn.lock().await;
        if !self.commits.wants(position) {
            // It was among what the request before committed.
            return Ok(());
        }
        turn.get_or_insert_with(paced).tick().await;
        self.commits.flush(&self.membership).await
    }
}

/// The first tick comes at once, and every further one at its distance from the one before.
fn paced() -> Interval {
    let mut interval = tokio::time::interval(COMMIT_EVERY);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

impl Commits {
    fn want(&self, partition: u32, offset: u64) {
        let mut wanted = self.wanted.lock();
        let wanted = wanted.entry(partition).or_default();
        *wanted = (*wanted).max(offset);
    }

    /// Whether a commit up to a position is still to be made.
    fn wants(&self, position: Position) -> bool {
        self.wanted.lock().get(&position.partition).is_some_and(|wanted| *wanted >= position.offset)
    }

    /// Commits every wanted offset. Offsets whose commit fails stay wanted, so that the callers that wait for them try again.
    /// A client that has lost its brokers may never answer: it is replaced, and the callers try again with the next one.
    async fn flush(&self, membership: &Membership) -> Result<(), Fault> {
        let topic = membership.topic_name();
        let failed = |error| fault::of(format!("nothing was committed of {topic}"), error);
        let left =
            || Fault::new(FaultKind::Transient, format!("nothing was committed of {topic}: its member has left"));
        let consumer = membership.present().ok_or_else(left)?;
        let wanted = self.wanted.lock().clone();
        let mut offsets = TopicPartitionList::with_capacity(wanted.len());
        let may_commit = |partition, offset| consumer.context().may_commit(partition, offset);
        for (partition, offset) in wanted.iter().filter(|(partition, offset)| may_commit(**partition, **offset)) {
            let offset = Offset::Offset(i64::try_from(*offset).unwrap_or(i64::MAX));
            offsets.add_partition_offset(topic, number(*partition), offset).map_err(failed)?;
        }
        if offsets.count() > 0 {
            commit(consumer, topic, offsets).await?;
        }
        self.forget(&wanted);
        Ok(())
    }

    /// Removes offsets that were committed, or that another member has to commit.
    fn forget(&self, done: &BTreeMap<u32, u64>) {
        self.wanted.lock().retain(|partition, wanted| done.get(partition).is_none_or(|done| *wanted > *done));
    }
}

impl Drop for KafkaFeed {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.membership.inbox.close();
        if self.ended.get_mut().recv_timeout(LEAVE_MAX) == Err(mpsc::RecvTimeoutError::Timeout) {
            tracing::warn!(
                topic = self.membership.topic_name(),
                "the member did not leave its consumer group in time"
            );
        }
    }
}
