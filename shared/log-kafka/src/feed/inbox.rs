//! The records that a member has read and its caller has not taken yet.

use std::collections::VecDeque;
use std::time::Duration;

use delivery::Fault;
use delivery::ports::log::LogRecord;
use tokio::sync::Notify;

/// Records that may wait: more than a lane takes at once, so that it never waits for a fetch while there is a backlog.
const RECORDS_MAX: usize = 1024;

/// A bounded queue from the member's thread to the caller. The bound is soft: records that were fetched already still fit.
pub(super) struct Inbox {
    waiting: parking_lot::Mutex<Waiting>,
    filled: Notify,
    emptied: parking_lot::Condvar,
    bytes_max: usize,
}

#[derive(Default)]
struct Waiting {
    records: VecDeque<(LogRecord, usize)>,
    bytes: usize,
    /// The last failure that was not returned to the caller yet.
    fault: Option<Fault>,
    is_closed: bool,
}

impl Waiting {
    fn is_full(&self, bytes_max: usize) -> bool {
        !self.is_closed && (self.records.len() >= RECORDS_MAX || self.bytes >= bytes_max)
    }

    fn take(&mut self, max: usize) -> Vec<LogRecord> {
        let count = self.records.len().min(max);
        let taken: Vec<_> = self.records.drain(..count).collect();
        self.bytes = taken.iter().fold(self.bytes, |bytes, (_, size)| bytes.saturating_sub(*size));
        taken.into_iter().map(|(record, _)| record).collect()
    }
}

impl Inbox {
    pub(super) fn new(bytes_max: u32) -> Self {
        Self {
            waiting: parking_lot::Mutex::default(),
            filled: Notify::new(),
            emptied: parking_lot::Condvar::new(),
            bytes_max: usize::try_from(bytes_max).unwrap_or(usize::MAX),
        }
    }

    pub(super) fn push(&self, record: LogRecord, bytes: usize) {
        let mut waiting = self.waiting.lock();
        waiting.bytes = waiting.bytes.saturating_add(bytes);
        waiting.records.push_back((record, bytes));
        drop(waiting);
        self.filled.notify_one();
    }

    pub(super) fn fail(&self, fault: Fault) {
        self.waiting.lock().fault = Some(fault);
        self.filled.notify_one();
    }

    /// Removes the records of partitions that another member has now.
    pub(super) fn revoke(&self, is_revoked: impl Fn(u32) -> bool) {
        let mut waiting = self.waiting.lock();
        waiting.records.retain(|(record, _)| !is_revoked(record.position.partition));
        waiting.bytes = waiting.records.iter().map(|(_, size)| size).sum();
    }

    /// Waits for room; `false` when there is none after `timeout`.
    pub(super) fn wait_for_room(&self, timeout: Duration) -> bool {
        let mut waiting = self.waiting.lock();
        let is_full = |waiting: &mut Waiting| waiting.is_full(self.bytes_max);
        !self.emptied.wait_while_for(&mut waiting, is_full, timeout).timed_out()
    }

    /// Lets a thread that waits for room go.
    pub(super) fn close(&self) {
        self.waiting.lock().is_closed = true;
        self.emptied.notify_one();
    }

    /// Waits for records, and takes at most `max`. Nothing is lost when the caller stops waiting.
    pub(super) async fn next(&self, max: usize) -> Result<Vec<LogRecord>, Fault> {
        loop {
            if let Some(taken) = self.take(max.max(1)) {
                return taken;
            }
            self.filled.notified().await;
        }
    }

    fn take(&self, max: usize) -> Option<Result<Vec<LogRecord>, Fault>> {
        let mut waiting = self.waiting.lock();
        if waiting.records.is_empty() {
            return waiting.fault.take().map(Err);
        }
        let records = waiting.take(max);
        let is_more = !waiting.records.is_empty();
        drop(waiting);
        self.emptied.notify_one();
        if is_more {
            // Another caller may be waiting for records.
            self.filled.notify_one();
        }
        Some(Ok(records))
    }
}
