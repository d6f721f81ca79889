//! Port `feed` on Kafka: one member of a consumer group.
//!
//! A thread of its own polls the client, whether records are asked for or not: so the member answers its group while
//! its caller is busy, a new member never waits for a busy one, and records of a partition that changed hands are taken
//! out before anybody sees them (X11). What is read and not asked for is bounded; when that is full for a while the
//! partitions pause. Commits are the caller's alone; several at once share one request, and requests keep their distance:
//! what is committed a moment later may at most come again.

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

use crate::ask::number;
use crate::commit::commit;
use crate::config::KafkaConfig;
use crate::fault;
use crate::feed::membership::Membership;
use crate::feed::pump::Pump;

mod inbox;
mod membership;
mod pump;
mod standstill;

/// From one request to commit to the next one, at least.
const COMMIT_EVERY: Duration = Duration::from_millis(50);
/// How long a feed that is dropped waits for its member to leave the group.
const LEAVE_MAX: Duration = Duration::from_secs(5);

/// A member of a topic's consumer group. It leaves when it is dropped, which waits for that, 5 s at most.
pub struct KafkaFeed {
    membership: Arc<Membership>,
    commits: Commits,
    stop: Arc<AtomicBool>,
    ended: parking_lot::Mutex<mpsc::Receiver<()>>,
}

/// What is to be committed.
#[derive(Default)]
struct Commits {
    wanted: parking_lot::Mutex<BTreeMap<u32, u64>>,
    /// Held by the one request under way; it says when the next one may go out.
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
            // Nobody listens once the feed has waited long enough.
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

    /// A partition that another member has by now is passed over: what was handed out of it is handed out there again.
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

    /// Commits everything that is wanted; what fails stays wanted, so that whoever waits for it tries again.
    /// A client that has lost its brokers may never answer: it is replaced, and whoever waited for it asks the next one.
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

    /// Wants no more what was committed, or is another member's to commit.
    fn forget(&self, done: &BTreeMap<u32, u64>) {
        self.wanted.lock().retain(|partition, wanted| done.get(partition).is_none_or(|done| *wanted > *done));
    }
}

impl Drop for KafkaFeed {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.membership.inbox.close();
        if self.ended.get_mut().recv_timeout(LEAVE_MAX) == Err(mpsc::RecvTimeoutError::Timeout) {
            tracing::warn!(topic = self.membership.topic_name(), "the member is slow to leave its consumer group");
        }
    }
}
