//! In-flight leases: a set with expiries, not a counter, so that a crash repairs itself (LN-1).

use std::collections::BTreeMap;

use domain::{LeaseFact, Timestamp};

#[derive(Debug, Default)]
pub(super) struct Leases {
    until: BTreeMap<String, Timestamp>,
}

/// A request for a lease.
pub(super) struct LeaseRequest<'a> {
    pub(super) holder: &'a str,
    pub(super) limit: u32,
    pub(super) now: Timestamp,
    pub(super) until: Timestamp,
}

impl Leases {
    /// Takes a lease, or renews the holder's own.
    pub(super) fn take(&mut self, request: &LeaseRequest<'_>) -> LeaseFact {
        let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
        if self.until.len() >= limit {
            self.until.retain(|holder, until| *until > request.now || holder == request.holder);
        }
        if self.until.len() >= limit && !self.until.contains_key(request.holder) {
            return LeaseFact::Full;
        }
        self.until.insert(request.holder.to_owned(), request.until);
        LeaseFact::Taken
    }

    pub(super) fn give_back(&mut self, holder: &str) {
        self.until.remove(holder);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.until.is_empty()
    }

    pub(super) fn count(&self, now: Timestamp) -> u64 {
        u64::try_from(self.until.values().filter(|until| **until > now).count()).unwrap_or_default()
    }
}
