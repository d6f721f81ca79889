//! Port `schedule` in memory: the due set.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::schedule::{Depth, Lease, Schedule};
use domain::{Timestamp, Waiting, WebhookId};

use crate::MemoryStore;

#[derive(Debug, Default)]
pub(super) struct DueSet {
    /// When each entry may be taken next, and which it is.
    order: BTreeSet<(Timestamp, WebhookId)>,
    entries: BTreeMap<WebhookId, Entry>,
}

#[derive(Debug)]
struct Entry {
    waiting: Waiting,
    lease: Option<(String, Timestamp)>,
}

impl Entry {
    fn available_at(&self) -> Timestamp {
        self.lease.as_ref().map_or(self.waiting.due, |(_, until)| *until)
    }
}

impl DueSet {
    pub(super) fn put(&mut self, waiting: Waiting) {
        let id = waiting.dispatch.webhook.id.clone();
        let later =
            self.entries.get(&id).is_some_and(|known| known.waiting.dispatch.number > waiting.dispatch.number);
        if later {
            return;
        }
        self.remove(&id);
        self.order.insert((waiting.due, id.clone()));
        self.entries.insert(id, Entry { waiting, lease: None });
    }

    pub(super) fn take_out(&mut self, id: &WebhookId, through: u64) {
        if self.entries.get(id).is_some_and(|entry| entry.waiting.dispatch.number <= through) {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: &WebhookId) {
        if let Some(entry) = self.entries.remove(id) {
            self.order.remove(&(entry.available_at(), id.clone()));
        }
    }

    fn lease(&mut self, lease: &Lease, max: usize) -> Vec<Waiting> {
        let due: Vec<_> = self.order.iter().take_while(|(at, _)| *at <= lease.now).take(max).cloned().collect();
        let mut leased = Vec::with_capacity(due.len());
        for place in due {
            self.order.remove(&place);
            if let Some(entry) = self.entries.get_mut(&place.1) {
                entry.lease = Some((lease.token.clone(), lease.until));
                self.order.insert((lease.until, place.1));
                leased.push(entry.waiting.clone());
            }
        }
        leased
    }

    fn forget(&mut self, token: &str, ids: &[WebhookId]) {
        for id in ids {
            let held =
                self.entries.get(id).and_then(|entry| entry.lease.as_ref()).is_some_and(|(held, _)| held == token);
            if held {
                self.remove(id);
            }
        }
    }

    /// A sum of hashes: the same for the same entries in any order.
    pub(super) fn fingerprint(&self) -> u64 {
        self.entries.values().fold(0, |sum: u64, entry| sum.wrapping_add(fingerprint_of(&entry.waiting)))
    }
}

pub(super) fn fingerprint_of(waiting: &Waiting) -> u64 {
    let mut hasher = DefaultHasher::new();
    let dispatch = &waiting.dispatch;
    (dispatch.webhook.id.as_str(), dispatch.number, dispatch.attempt, waiting.due).hash(&mut hasher);
    hasher.finish()
}

#[async_trait]
impl Schedule for MemoryStore {
    async fn lease(&self, lease: &Lease, max: usize) -> Result<Vec<Waiting>, Fault> {
        Ok(self.due.lock().lease(lease, max))
    }

    async fn forget(&self, lease: &Lease, ids: &[WebhookId]) -> Result<(), Fault> {
        self.due.lock().forget(&lease.token, ids);
        Ok(())
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, Fault> {
        Ok(self.due.lock().order.first().map(|(at, _)| *at))
    }

    async fn depth(&self, now: Timestamp) -> Result<Depth, Fault> {
        let due = self.due.lock();
        let count = |count: usize| u64::try_from(count).unwrap_or_default();
        let over = due.order.iter().take_while(|(at, _)| *at <= now).count();
        Ok(Depth { waiting: count(due.entries.len()), due: count(over) })
    }
}
