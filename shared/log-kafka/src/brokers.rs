//! Whether a client still knows any broker, by its own account.
//!
//! A cluster that is coming back may name topics and no brokers. The client then forgets those that it knew, and most
//! times begins anew with the ones it was built with; when it was just forgetting these as well it looks for none ever
//! again (librdkafka 2.12). Only a new client helps.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde::Deserialize;

/// How often a client that is watched tells which brokers it knows.
pub(crate) const TOLD_EVERY: Duration = Duration::from_secs(5);
/// Accounts in a row without a broker: one that begins anew has none for a moment.
const FORGOTTEN_AFTER: u32 = 3;

/// Takes a client's accounts, which are seconds apart.
#[derive(Debug, Default)]
pub struct Brokers {
    accounts_without: AtomicU32,
}

/// An account, by the client library's names.
#[derive(Deserialize)]
struct Account {
    brokers: BTreeMap<String, Broker>,
}

#[derive(Deserialize)]
struct Broker {
    source: String,
}

impl Brokers {
    /// Takes the client's statistics. Those that cannot be read say nothing.
    pub fn tell(&self, statistics: &[u8]) {
        let Ok(account) = serde_json::from_slice::<Account>(statistics) else { return };
        let is_known =
            account.brokers.values().any(|broker| matches!(broker.source.as_str(), "configured" | "learned"));
        if is_known {
            self.accounts_without.store(0, Ordering::Relaxed);
        } else {
            self.accounts_without.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether the client has known none for some time.
    pub fn are_forgotten(&self) -> bool {
        self.accounts_without.load(Ordering::Relaxed) >= FORGOTTEN_AFTER
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
        for account in [NONE, NONE, ONE, NONE, NONE, b"no statistics"] {
            brokers.tell(account);
        }
        assert!(!brokers.are_forgotten());
        brokers.tell(NONE);
        assert!(brokers.are_forgotten());
        brokers.tell(br#"{"brokers":{"a:9092/bootstrap":{"source":"configured"}}}"#);
        assert!(!brokers.are_forgotten());
    }
}
