//! Use-case batch: the records of one invocation of a lane.
//!
//! Tenants are worked on beside each other, the records of one tenant in order or a few at a time. An endpoint's failure
//! is settled like a success. A record that is not settled at the end is one for which howk could not do its part, or had
//! no time left; it must be redelivered (DL-1). Nothing outlives the call: at the deadline the requests that are still under
//! way are dropped where they stand, as if the process had died there; their claims run out and their records come again.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::{OnStoreFailure, Position, Record, Redeliver, Topic};
use futures::future::{self, FutureExt};
use futures::stream::{FuturesUnordered, StreamExt};

use crate::deliver::{Deliver, Handled, Invocation, dispatch_of};
use crate::fault::{Fault, FaultKind};
use crate::keyed_queue::{Key, KeyedQueue};
use crate::observe;
use crate::ports::log::LogRecord;
use crate::rebuild::Rebuild;

/// After so many faults in a row no further record of the batch is begun: the log or the store is down, and another try for
/// every record would only cost time. It is not less because a store of which one part is down still serves the tenants
/// of the other parts, and a batch may well begin with a run of records of that part.
const FAULTS_IN_A_ROW_MAX: usize = 16;

/// Works off batches.
#[derive(Clone)]
pub struct Batch {
    /// The use-case for each record.
    pub deliver: Arc<Deliver>,
    /// Where it is read whether the hot state is rebuilt.
    pub rebuild: Arc<Rebuild>,
    /// How many records of a batch are worked on at once. At least 1.
    pub concurrency: usize,
    /// How many records of one tenant are worked on at once; 0 counts as 1, which keeps their order.
    pub per_key: usize,
    /// Whether the batch before this one was left unsettled by a fault or by its deadline.
    pub failed: Arc<AtomicBool>,
}

/// What became of a batch.
#[derive(Debug)]
pub enum Completion {
    /// Every record is settled.
    Complete,
    /// The invocation ended before these records were settled, by position.
    DeadlineReached(Vec<LogRecord>),
    /// Howk could not do its part: these records are not settled, by position. Of some only the time ran out.
    Failed(Vec<LogRecord>, Fault),
}

/// A batch under way.
struct Run {
    /// The records that are not settled yet.
    rest: BTreeMap<Position, LogRecord>,
    queue: KeyedQueue,
    faults_in_a_row: usize,
    fault: Option<Fault>,
    /// Whether the deadline came while requests were under way.
    was_cut: bool,
}

impl Batch {
    /// Works a batch off, until the invocation's deadline at the latest. Records of one partition must be in order.
    pub async fn work_off(&self, records: Vec<LogRecord>, invocation: &Invocation) -> Completion {
        if let Some(fault) = self.preflight_error(invocation).await {
            return Completion::Failed(records, fault);
        }
        let mut run = Run {
            rest: records.iter().map(|record| (record.position, record.clone())).collect(),
            queue: KeyedQueue::new(self.per_key),
            faults_in_a_row: 0,
            fault: None,
            was_cut: false,
        };
        run.queue.add(records);
        self.work(&mut run, invocation).await;
        let rest: Vec<LogRecord> = run.rest.into_values().collect();
        self.failed.store(run.fault.is_some() || run.was_cut, Ordering::Relaxed);
        match run.fault {
            Some(fault) => Completion::Failed(rest, fault),
            None if rest.is_empty() => Completion::Complete,
            None => Completion::DeadlineReached(rest),
        }
    }

    /// Republishes records at the end of their topic: for callers that can only acknowledge a batch as a whole.
    ///
    /// A dispatch keeps its number. If the process dies before the batch is acknowledged, both records come, and the
    /// dispatch is claimed once all the same (CL-1).
    ///
    /// # Errors
    /// A [`Fault`] when the log did not acknowledge all of them: the whole batch must be redelivered.
    pub async fn republish(&self, rest: Vec<LogRecord>) -> Result<(), Fault> {
        let now = self.deliver.clock.now();
        let again = rest.into_iter().map(|record| match dispatch_of(record, now) {
            Ok((lane, dispatch)) => Record::Dispatch(lane, dispatch),
            Err(undecodable) => Record::Undecodable(undecodable),
        });
        self.deliver.log.publish(again.collect()).await.inspect_err(observe::faulted).map(drop)
    }

    /// The reason not to begin any record of the batch, if there is one.
    async fn preflight_error(&self, invocation: &Invocation) -> Option<Fault> {
        let now = self.deliver.clock.now();
        let longest = self.deliver.policy.lanes.longest();
        if invocation.deadline.is_some_and(|deadline| deadline.since(now) < longest) {
            let context = format!("the invocation is too short: a request and its settlement may take {longest:?}");
            return Some(Fault::new(FaultKind::Permanent, context));
        }
        match (self.rebuild.is_rebuilt().await, self.deliver.policy.on_store_failure) {
            (Ok(true), _) | (Err(_), OnStoreFailure::Open) => self.results_outage().await,
            (Ok(false), _) => Some(Fault::new(FaultKind::Transient, "the hot state is not rebuilt yet")),
            (Err(fault), OnStoreFailure::Closed) => Some(fault),
        }
    }

    /// A batch that failed is redelivered at once. While the log accepts no results, each redelivery would make every request
    /// of the batch once more, so the log is checked before the first request (P19).
    async fn results_outage(&self) -> Option<Fault> {
        if !self.failed.load(Ordering::Relaxed) {
            return None;
        }
        self.deliver.log.extents(Topic::Results).await.err()
    }

    async fn work(&self, run: &mut Run, invocation: &Invocation) {
        let mut under_way = FuturesUnordered::new();
        let mut deadline = pin!(self.deadline(invocation).fuse());
        loop {
            while under_way.len() < self.concurrency.max(1)
                && let Some((key, record)) = self.next(run, invocation)
            {
                under_way.push(self.settle(key, record, invocation));
            }
            futures::select_biased! {
                settled = under_way.next() => match settled {
                    Some((key, position, handled)) => run.record_handled(&key, position, handled),
                    None => return,
                },
                () = deadline => {
                    run.was_cut = true;
                    return tracing::warn!(left = run.rest.len(), "the invocation ends before its batch is settled");
                }
            }
        }
    }

    /// The next record to begin; `None` when there is none whose request fits into the remaining time, or too many faults
    /// came in a row.
    fn next(&self, run: &mut Run, invocation: &Invocation) -> Option<(Key, LogRecord)> {
        let now = self.deliver.clock.now();
        while run.faults_in_a_row < FAULTS_IN_A_ROW_MAX {
            let (key, record) = run.queue.take()?;
            let fits = match (&record.value, invocation.deadline) {
                (Ok(Record::Dispatch(_, dispatch)), Some(deadline)) => {
                    deadline.since(now) >= self.deliver.policy.lanes.needs(invocation.lane, dispatch)
                }
                (Ok(_) | Err(_), _) => true,
            };
            if fits {
                return Some((key, record));
            }
            run.queue.failed(&key);
        }
        None
    }

    async fn settle(
        &self,
        key: Key,
        record: LogRecord,
        invocation: &Invocation,
    ) -> (Key, Position, Result<Handled, Fault>) {
        let position = record.position;
        (key, position, self.deliver.handle(record, invocation).await)
    }

    async fn deadline(&self, invocation: &Invocation) {
        let clock = &self.deliver.clock;
        match invocation.deadline {
            Some(deadline) => clock.sleep(deadline.since(clock.now())).await,
            None => future::pending().await,
        }
    }
}

impl Run {
    fn record_handled(&mut self, key: &Key, position: Position, handled: Result<Handled, Fault>) {
        let fault = match handled {
            Ok(Handled::Done) => {
                self.rest.remove(&position);
                self.faults_in_a_row = 0;
                return self.queue.done(key);
            }
            Ok(Handled::Redelivered(Redeliver::NoTime)) => return self.queue.failed(key),
            Ok(Handled::Redelivered(Redeliver::StoreFailed)) => {
                Fault::new(FaultKind::Transient, "the store cannot say whether the endpoint's circuit is open")
            }
            Err(fault) => fault,
        };
        // A record that cannot be read has no webhook id; its position identifies it.
        let webhook_id = self.rest.get(&position).and_then(LogRecord::webhook_id).map(tracing::field::display);
        let Position { partition, offset } = position;
        tracing::warn!(
            webhook_id,
            partition,
            offset,
            fault = fault.chain(),
            "a record could not be settled; it is redelivered"
        );
        self.faults_in_a_row += 1;
        self.fault.get_or_insert(fault);
        self.queue.failed(key);
    }
}
