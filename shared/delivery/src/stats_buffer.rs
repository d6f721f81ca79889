//! Hourly counters, summed in the process and written once an invocation (a server: once a second).

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::{EndpointHash, Timestamp};
use futures::future::select;

use crate::ports::stats::{Counts, Hour, HourlyStats, Stats};
use crate::ports::time::Clock;

/// The counts that are not written yet.
#[derive(Default)]
pub struct StatsBuffer {
    hours: Mutex<BTreeMap<Hour, HourlyStats>>,
    store: Option<Arc<dyn Stats>>,
}

/// The hour that a point in time falls into, UTC.
pub const fn hour_of(at: Timestamp) -> Hour {
    Hour(at.as_secs() / 3600)
}

impl StatsBuffer {
    /// A buffer that is written to `store`.
    pub fn new(store: Arc<dyn Stats>) -> Self {
        Self { hours: Mutex::default(), store: Some(store) }
    }

    /// Adds to the counters of the hour of `now`.
    pub fn count(&self, now: Timestamp, add: impl FnOnce(&mut Counts)) {
        self.with(now, |stats| add(&mut stats.counts));
    }

    /// Counts an accepted webhook and its endpoint.
    pub fn enqueued(&self, now: Timestamp, endpoint: &EndpointHash) {
        self.with(now, |stats| {
            stats.counts.enqueued += 1;
            if !stats.endpoints.contains(endpoint) {
                stats.endpoints.insert(endpoint.clone());
            }
        });
    }

    /// Writes what was counted. Of a failure only a log line remains: no decision reads statistics.
    pub async fn flush(&self) {
        let Some(store) = &self.store else { return };
        let hours = std::mem::take(&mut *self.hours.lock().unwrap_or_else(PoisonError::into_inner));
        for (hour, stats) in hours {
            if let Err(fault) = store.add(hour, &stats).await {
                tracing::warn!(%fault, "hourly statistics could not be written and are lost");
            }
        }
    }

    /// Writes what was counted within `timeout`; counts that are not written by then are lost. For invocations, which have a
    /// deadline.
    pub async fn flush_within(&self, clock: &dyn Clock, timeout: Duration) {
        drop(select(pin!(self.flush()), clock.sleep(timeout)).await);
    }

    fn with(&self, now: Timestamp, add: impl FnOnce(&mut HourlyStats)) {
        let mut hours = self.hours.lock().unwrap_or_else(PoisonError::into_inner);
        add(hours.entry(hour_of(now)).or_default());
    }
}
