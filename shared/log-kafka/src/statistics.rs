//! The statistics that a client reports of itself, parsed once, and what they say about its health.
//!
//! Two faults of librdkafka 2.12 leave a client that never works again, and only its statistics show them:
//! - A cluster that is coming back may name topics and no brokers. The client then forgets the brokers that it knew, and
//!   most times begins anew with the ones it was built with. When it is just forgetting these as well, it never looks for
//!   any again ([`Brokers`]).
//! - A member asks the coordinator of its group for the offset to begin with. When the broker that answers is not the
//!   coordinator, as a broker says that has just started, the request is never repeated, nor is one sent for any partition
//!   that comes later (upstream issue 5586), while the member stays in its group ([`Standstill`]).
//!
//! A new client helps in both cases.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde::Deserialize;

/// How often a member reports its statistics: three bad reports in a row are noticed within 15 s, and one costs well below a
/// millisecond of CPU.
pub(crate) const REPORT_INTERVAL: Duration = Duration::from_secs(5);
/// Bad reports in a row after which a client is broken. One or two are normal: a client that begins anew knows no broker for a
/// moment, and a partition that was just assigned waits for its offset.
const BROKEN_AFTER: u32 = 3;

/// A client's statistics, by the client library's names. What a text lacks stays empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Statistics {
    /// Requests sent since the client was built.
    pub(crate) tx: u64,
    /// Records published since then.
    pub(crate) txmsgs: u64,
    /// Records fetched since then.
    pub(crate) rxmsgs: u64,
    brokers: Option<BTreeMap<String, Broker>>,
    topics: Option<BTreeMap<String, FetchedTopic>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Broker {
    source: String,
    state: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FetchedTopic {
    partitions: BTreeMap<String, Partition>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Partition {
    partition: i64,
    fetch_state: String,
}

impl Statistics {
    /// `None` for a text of another shape.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// Whether the client knows a broker; `None` when its statistics do not say.
    fn knows_brokers(&self) -> Option<bool> {
        let is_known = |broker: &Broker| matches!(broker.source.as_str(), "configured" | "learned");
        Some(self.brokers.as_ref()?.values().any(is_known))
    }

    /// Whether an assigned partition is not fetched although a broker is connected; `None` when the statistics do not say.
    fn stands_still(&self, assigned: &BTreeSet<u32>) -> Option<bool> {
        let partitions = self.topics.as_ref()?.values().flat_map(|topic| topic.partitions.values());
        let fetched: BTreeSet<i64> =
            partitions.filter(|one| one.fetch_state == "active").map(|one| one.partition).collect();
        let is_connected = self.brokers.as_ref()?.values().any(|broker| broker.state == "UP");
        Some(is_connected && assigned.iter().any(|partition| !fetched.contains(&i64::from(*partition))))
    }
}

/// Bad reports in a row.
#[derive(Debug, Default)]
struct BadReports(AtomicU32);

impl BadReports {
    fn count(&self, is_bad: Option<bool>) {
        match is_bad {
            Some(true) => {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
            Some(false) => self.0.store(0, Ordering::Relaxed),
            None => {}
        }
    }

    fn are_many(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= BROKEN_AFTER
    }
}

/// Whether a client has forgotten all brokers, by its statistics, which come seconds apart.
#[derive(Debug, Default)]
pub struct Brokers(BadReports);

impl Brokers {
    /// Takes the client's statistics. A text that cannot be read changes nothing.
    pub fn observe(&self, statistics: &[u8]) {
        if let Some(statistics) = Statistics::parse(statistics) {
            self.observe_parsed(&statistics);
        }
    }

    pub(crate) fn observe_parsed(&self, statistics: &Statistics) {
        self.0.count(statistics.knows_brokers().map(|knows| !knows));
    }

    /// Whether the client has known no broker for three reports in a row.
    pub fn are_forgotten(&self) -> bool {
        self.0.are_many()
    }
}

/// Whether a member does not fetch a partition that it was assigned, by its statistics.
#[derive(Debug, Default)]
pub(crate) struct Standstill(BadReports);

impl Standstill {
    /// Takes the client's statistics, and the partitions that its member was assigned of its topic.
    pub(crate) fn observe(&self, statistics: &Statistics, assigned: &BTreeSet<u32>) {
        self.0.count(statistics.stands_still(assigned));
    }

    /// Whether an assigned partition was not fetched for three reports in a row.
    pub(crate) fn lasts(&self) -> bool {
        self.0.are_many()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: &[u8] =
        br#"{"brokers":{"GroupCoordinator":{"source":"logical"},":0/internal":{"source":"internal"}}}"#;
    const ONE: &[u8] = br#"{"brokers":{"GroupCoordinator":{"source":"logical"},"a:9092/1":{"source":"learned"}}}"#;

    #[test]
    fn brokers_are_forgotten_when_none_was_known_for_some_time() {
        let brokers = Brokers::default();
        for statistics in [NONE, NONE, ONE, NONE, NONE, b"no statistics", b"{}"] {
            brokers.observe(statistics);
        }
        assert!(!brokers.are_forgotten());
        brokers.observe(NONE);
        assert!(brokers.are_forgotten());
        brokers.observe(br#"{"brokers":{"a:9092/bootstrap":{"source":"configured"}}}"#);
        assert!(!brokers.are_forgotten());
    }

    fn statistics(broker: &str, second: &str) -> String {
        format!(
            r#"{{"brokers":{{"a:9092/1":{{"state":"{broker}"}}}},"topics":{{"t":{{"partitions":{{
                "0":{{"partition":0,"fetch_state":"active"}},"1":{{"partition":1,"fetch_state":"{second}"}},
                "-1":{{"partition":-1,"fetch_state":"none"}}}}}}}}}}"#
        )
    }

    #[test]
    fn a_partition_that_is_not_fetched_for_some_time_is_noticed() {
        let standstill = Standstill::default();
        let observe = |text: &str, assigned: &[u32]| {
            if let Some(statistics) = Statistics::parse(text.as_bytes()) {
                standstill.observe(&statistics, &assigned.iter().copied().collect());
            }
            standstill.lasts()
        };
        let (still, flowing) = (statistics("UP", "none"), statistics("UP", "active"));
        assert!(!observe(&still, &[0, 1]) && !observe(&still, &[0, 1]), "it may have come just now");
        assert!(!observe(&flowing, &[0, 1]) && !observe(&still, &[0, 1]) && !observe(&still, &[0, 1]));
        assert!(!observe("no statistics", &[0, 1]) && observe(&still, &[0, 1]));
        assert!(!observe(&still, &[0]), "another member has it");
        let without_broker = statistics("DOWN", "none");
        assert!(!(0..5).any(|_| observe(&without_broker, &[0, 1])), "no broker can be asked");
        assert!((0..5).any(|_| observe(&flowing, &[2])), "one that the client does not even know");
    }
}
