//! The counters of an event source, and what can be changed about it while it runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::spec::EventSourceSpec;

/// What the control API and the view show of an event source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceState {
    /// The function that it invokes.
    pub function: String,
    /// The topic that it reads.
    pub topic: String,
    /// Whether every partition is being read.
    pub is_polling: bool,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Invocations so far.
    pub invocations: u64,
    /// Records in them, repeats included.
    pub records: u64,
    /// Invocations that the function failed.
    pub errors: u64,
    /// Invocations that were not tried, because no concurrency was left or Lambda could not be reached.
    pub not_tried: u64,
    /// Records that the function named as failed.
    pub item_failures: u64,
    /// Records that were given up.
    pub given_up: u64,
    /// Records that are not committed yet.
    pub lag: u64,
}

/// Shows and changes an event source. Clones control the same one.
#[derive(Debug, Clone)]
pub struct SourceControl(pub(super) Arc<Watched>);

impl SourceControl {
    /// Its state.
    pub fn state(&self) -> SourceState {
        self.0.state()
    }

    /// Stops invoking, after what is under way.
    pub fn pause(&self) {
        self.0.paused.send_replace(true);
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.0.paused.send_replace(false);
    }

    /// Delivers the next batch that succeeds once more, as "at least once" allows. Each call duplicates one more batch.
    pub fn duplicate_next(&self) {
        self.0.duplicates.fetch_add(1, Ordering::Relaxed);
    }
}

/// What the parts of an event source share: their counters, and what the control API asked for.
#[derive(Debug)]
pub(super) struct Watched {
    function: String,
    topic: String,
    paused: watch::Sender<bool>,
    duplicates: AtomicU32,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) invocations: u64,
    pub(super) records: u64,
    pub(super) errors: u64,
    pub(super) not_tried: u64,
    pub(super) item_failures: u64,
    pub(super) given_up: u64,
    /// How many partitions there are, once that is known.
    partitions: Option<usize>,
    polled: usize,
    /// The next offset to commit, and the next to be written, of each partition.
    next: BTreeMap<i32, i64>,
    ends: BTreeMap<i32, i64>,
}

impl Watched {
    pub(super) fn new(spec: &EventSourceSpec) -> Self {
        Self {
            function: spec.function.clone(),
            topic: spec.topic.clone(),
            paused: watch::Sender::new(false),
            duplicates: AtomicU32::new(0),
            seen: Mutex::default(),
        }
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut Seen)) {
        count(&mut self.seen.lock());
    }

    pub(super) fn set_partitions(&self, partitions: usize) {
        self.seen.lock().partitions = Some(partitions);
    }

    pub(super) fn add_polled(&self, partitions: usize) {
        self.seen.lock().polled += partitions;
    }

    pub(super) fn record_assigned(&self, partition: i32, next: i64) {
        self.seen.lock().next.insert(partition, next);
    }

    pub(super) fn record_committed(&self, next: &BTreeMap<i32, i64>) {
        self.seen.lock().next.extend(next);
    }

    /// Whether committing an offset would be progress.
    pub(super) fn is_beyond(&self, partition: i32, next: i64) -> bool {
        self.seen.lock().next.get(&partition).is_none_or(|known| next > *known)
    }

    pub(super) fn record_end(&self, partition: i32, end: i64) {
        self.seen.lock().ends.insert(partition, end);
    }

    /// Waits while the source is paused.
    pub(super) async fn until_resumed(&self) {
        // The sender is this value's own, so it isn't gone.
        self.paused.subscribe().wait_for(|paused| !paused).await.ok();
    }

    /// Whether the batch that just succeeded is to be delivered again.
    pub(super) fn takes_duplicate(&self) -> bool {
        self.duplicates.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1)).is_ok()
    }

    fn state(&self) -> SourceState {
        let seen = self.seen.lock();
        let lag = seen.ends.iter().map(|(partition, end)| end - seen.next.get(partition).unwrap_or(end));
        SourceState {
            function: self.function.clone(),
            topic: self.topic.clone(),
            is_polling: seen.partitions.is_some_and(|partitions| seen.polled >= partitions),
            is_paused: *self.paused.borrow(),
            invocations: seen.invocations,
            records: seen.records,
            errors: seen.errors,
            not_tried: seen.not_tried,
            item_failures: seen.item_failures,
            given_up: seen.given_up,
            lag: lag.map(|lag| u64::try_from(lag).unwrap_or_default()).sum(),
        }
    }
}
