//! Whether the client fetches the partitions that its member was given, by its own account.
//!
//! A client asks the group's coordinator where to begin. When the one that answers is not the coordinator, as a broker
//! says that has just started, the question is never asked again, nor is that of any partition that comes later
//! (librdkafka 2.12, upstream issue 5586), while the member stays in its group. Only a new one helps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::Deserialize;

/// Accounts in a row in which some partition is not fetched: one that came just now waits for its offset for a moment.
const STANDS_STILL_AFTER: u32 = 3;

/// Takes a client's accounts.
#[derive(Debug, Default)]
pub(super) struct Standstill {
    accounts: AtomicU32,
}

/// An account, by the client library's names.
#[derive(Deserialize)]
struct Account {
    brokers: BTreeMap<String, Broker>,
    topics: BTreeMap<String, Fetched>,
}

#[derive(Deserialize)]
struct Broker {
    state: String,
}

#[derive(Deserialize)]
struct Fetched {
    partitions: BTreeMap<String, Partition>,
}

#[derive(Deserialize)]
struct Partition {
    partition: i64,
    fetch_state: String,
}

impl Account {
    /// Whether a partition is not fetched although there is somebody to fetch from.
    fn is_still(&self, assigned: &BTreeSet<u32>) -> bool {
        let partitions = self.topics.values().flat_map(|topic| topic.partitions.values());
        let fetched: BTreeSet<i64> =
            partitions.filter(|one| one.fetch_state == "active").map(|one| one.partition).collect();
        self.brokers.values().any(|broker| broker.state == "UP")
            && assigned.iter().any(|partition| !fetched.contains(&i64::from(*partition)))
    }
}

impl Standstill {
    /// Takes the client's statistics, and what its member has of its topic. Those that cannot be read say nothing.
    pub(super) fn tell(&self, statistics: &[u8], assigned: &BTreeSet<u32>) {
        let Ok(account) = serde_json::from_slice::<Account>(statistics) else { return };
        if account.is_still(assigned) {
            self.accounts.fetch_add(1, Ordering::Relaxed);
        } else {
            self.accounts.store(0, Ordering::Relaxed);
        }
    }

    /// Whether a partition has not been fetched for some time.
    pub(super) fn lasts(&self) -> bool {
        self.accounts.load(Ordering::Relaxed) >= STANDS_STILL_AFTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(broker: &str, of_second: &str) -> String {
        format!(
            r#"{{"brokers":{{"a:9092/1":{{"state":"{broker}"}}}},"topics":{{"t":{{"partitions":{{
                "0":{{"partition":0,"fetch_state":"active"}},"1":{{"partition":1,"fetch_state":"{of_second}"}},
                "-1":{{"partition":-1,"fetch_state":"none"}}}}}}}}}}"#
        )
    }

    #[test]
    fn a_partition_that_is_not_fetched_for_some_time_is_noticed() {
        let standstill = Standstill::default();
        let tell = |account: &str, assigned: &[u32]| {
            standstill.tell(account.as_bytes(), &assigned.iter().copied().collect());
            standstill.lasts()
        };
        let (still, flowing) = (account("UP", "none"), account("UP", "active"));
        assert!(!tell(&still, &[0, 1]) && !tell(&still, &[0, 1]), "it may have come just now");
        assert!(!tell(&flowing, &[0, 1]) && !tell(&still, &[0, 1]) && !tell(&still, &[0, 1]));
        assert!(!tell("no statistics", &[0, 1]) && tell(&still, &[0, 1]));
        assert!(!tell(&still, &[0]), "another member has it");
        let without_broker = account("DOWN", "none");
        assert!(!(0..5).any(|_| tell(&without_broker, &[0, 1])), "nobody can be asked");
        assert!((0..5).any(|_| tell(&flowing, &[2])), "one that the client does not even know");
    }
}
