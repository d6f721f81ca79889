//! What the clients send and receive, as they count it themselves.
//!
//! A client tells its totals every so often, so the sums lag behind by that; what it sent after it told them last is
//! lost when it goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Deserialize;

/// What all clients sent and received together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Requests to brokers: what is published, fetched, committed or asked together is one.
    pub requests: u64,
    /// Records published.
    pub published: u64,
    /// Records fetched.
    pub fetched: u64,
}

/// Counts the traffic of every client that is built with it. Clones count together.
#[derive(Debug, Clone)]
pub struct TrafficCounter {
    pub(crate) every: Duration,
    sums: Arc<Sums>,
}

#[derive(Debug, Default)]
struct Sums {
    requests: AtomicU64,
    published: AtomicU64,
    fetched: AtomicU64,
}

impl TrafficCounter {
    /// Lets every client tell its totals so often. It costs a client well below a millisecond of CPU each time.
    pub fn told_every(every: Duration) -> Self {
        Self { every, sums: Arc::default() }
    }

    /// What was told so far.
    pub fn traffic(&self) -> Traffic {
        Traffic {
            requests: self.sums.requests.load(Ordering::Relaxed),
            published: self.sums.published.load(Ordering::Relaxed),
            fetched: self.sums.fetched.load(Ordering::Relaxed),
        }
    }
}

/// One client's part of the sums.
#[derive(Debug)]
pub(crate) struct Meter {
    counter: TrafficCounter,
    told: parking_lot::Mutex<Totals>,
}

/// The totals of one client since it was built, by the client library's names.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
struct Totals {
    tx: u64,
    txmsgs: u64,
    rxmsgs: u64,
}

impl Meter {
    pub(crate) fn new(counter: &TrafficCounter) -> Self {
        Self { counter: counter.clone(), told: parking_lot::Mutex::default() }
    }

    /// Takes the client's statistics. Totals that cannot be read count nothing, and the next ones make up for it.
    pub(crate) fn tell(&self, statistics: &[u8]) {
        let Ok(now) = serde_json::from_slice::<Totals>(statistics) else { return };
        let before = std::mem::replace(&mut *self.told.lock(), now);
        let sums = &self.counter.sums;
        let parts = [
            (&sums.requests, now.tx, before.tx),
            (&sums.published, now.txmsgs, before.txmsgs),
            (&sums.fetched, now.rxmsgs, before.rxmsgs),
        ];
        for (sum, now, before) in parts {
            sum.fetch_add(now.saturating_sub(before), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_totals_of_all_clients_are_summed_up() {
        let counter = TrafficCounter::told_every(Duration::from_secs(1));
        let (producer, consumer) = (Meter::new(&counter), Meter::new(&counter));
        producer.tell(br#"{"name":"p","tx":3,"txmsgs":70,"rxmsgs":0,"brokers":{"1":{"tx":3}}}"#);
        consumer.tell(br#"{"name":"c","tx":5,"txmsgs":0,"rxmsgs":40}"#);
        producer.tell(br#"{"name":"p","tx":4,"txmsgs":71,"rxmsgs":0}"#);
        producer.tell(b"no statistics");
        assert_eq!(counter.traffic(), Traffic { requests: 9, published: 71, fetched: 40 });
    }
}
