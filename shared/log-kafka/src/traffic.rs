//! The requests and records of the clients, by their own statistics.
//!
//! A client reports its totals at an interval, so the sums lag behind by one interval, and what a client sends after its last
//! report is never counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::statistics::Statistics;

/// The sums of all clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Requests to brokers: what is published, fetched or committed together is one.
    pub requests: u64,
    /// Records published.
    pub published: u64,
    /// Records fetched.
    pub fetched: u64,
}

/// Counts the traffic of every client that is built with it. Clones count together.
#[derive(Debug, Clone)]
pub struct TrafficCounter {
    pub(crate) interval: Duration,
    sums: Arc<Sums>,
}

#[derive(Debug, Default)]
struct Sums {
    requests: AtomicU64,
    published: AtomicU64,
    fetched: AtomicU64,
}

impl TrafficCounter {
    /// Lets every client report its totals at an interval. A report costs a client well below a millisecond of CPU.
    pub fn every(interval: Duration) -> Self {
        Self { interval, sums: Arc::default() }
    }

    /// The sums so far.
    pub fn traffic(&self) -> Traffic {
        Traffic {
            requests: self.sums.requests.load(Ordering::Relaxed),
            published: self.sums.published.load(Ordering::Relaxed),
            fetched: self.sums.fetched.load(Ordering::Relaxed),
        }
    }
}

/// Adds one client's totals to the sums.
#[derive(Debug)]
pub(crate) struct Meter {
    counter: TrafficCounter,
    last: parking_lot::Mutex<[u64; 3]>,
}

impl Meter {
    pub(crate) fn new(counter: &TrafficCounter) -> Self {
        Self { counter: counter.clone(), last: parking_lot::Mutex::default() }
    }

    /// Adds what the client's totals have grown by since its last report.
    pub(crate) fn observe(&self, statistics: &Statistics) {
        let now = [statistics.tx, statistics.txmsgs, statistics.rxmsgs];
        let before = std::mem::replace(&mut *self.last.lock(), now);
        let sums = &self.counter.sums;
        let grown = now.into_iter().zip(before).map(|(now, before)| now.saturating_sub(before));
        for (sum, count) in [&sums.requests, &sums.published, &sums.fetched].into_iter().zip(grown) {
            sum.fetch_add(count, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_totals_of_all_clients_are_summed_up() {
        let counter = TrafficCounter::every(Duration::from_secs(1));
        let (producer, consumer) = (Meter::new(&counter), Meter::new(&counter));
        let observe = |meter: &Meter, text: &[u8]| {
            if let Some(statistics) = Statistics::parse(text) {
                meter.observe(&statistics);
            }
        };
        observe(&producer, br#"{"name":"p","tx":3,"txmsgs":70,"rxmsgs":0,"brokers":{"1":{"tx":3}}}"#);
        observe(&consumer, br#"{"name":"c","tx":5,"txmsgs":0,"rxmsgs":40}"#);
        observe(&producer, br#"{"name":"p","tx":4,"txmsgs":71,"rxmsgs":0}"#);
        observe(&producer, b"no statistics");
        assert_eq!(counter.traffic(), Traffic { requests: 9, published: 71, fetched: 40 });
    }
}
