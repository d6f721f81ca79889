//! Port `dead letters` in memory: the index.

use std::collections::BTreeMap;

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::dead_letters::{DeadLetterCursor, DeadLetterFilter, DeadLetters};
use domain::{DeadLetterEntry, Timestamp, WebhookId};

use crate::MemoryStore;

#[derive(Debug)]
pub(super) struct DeadLetterIndex {
    by_time: BTreeMap<DeadLetterCursor, DeadLetterEntry>,
    by_id: BTreeMap<WebhookId, Slot>,
    max: usize,
}

#[derive(Debug)]
struct Slot {
    at: Timestamp,
    leased_until: Timestamp,
}

fn place(entry: &DeadLetterEntry) -> DeadLetterCursor {
    DeadLetterCursor { at: entry.at, id: entry.id.clone() }
}

impl DeadLetterIndex {
    pub(super) const fn new(max: usize) -> Self {
        Self { by_time: BTreeMap::new(), by_id: BTreeMap::new(), max }
    }

    pub(super) fn wipe(&mut self) {
        self.by_time.clear();
        self.by_id.clear();
    }

    /// Lists a dead letter in place of an earlier one of its webhook. Beyond the limit the oldest one is removed.
    pub(super) fn put(&mut self, entry: DeadLetterEntry) {
        let mut leased_until = Timestamp::EPOCH;
        if let Some(known) = self.by_id.get(&entry.id) {
            if known.at > entry.at {
                return;
            }
            if known.at == entry.at {
                // The same dead letter again: it keeps its lease, so that a replay under way stays the only one.
                leased_until = known.leased_until;
            }
            let former = DeadLetterCursor { at: known.at, id: entry.id.clone() };
            self.by_time.remove(&former);
        }
        self.by_id.insert(entry.id.clone(), Slot { at: entry.at, leased_until });
        self.by_time.insert(place(&entry), entry);
        if self.by_time.len() > self.max
            && let Some((place, _)) = self.by_time.pop_first()
        {
            self.by_id.remove(&place.id);
        }
    }

    fn lease(&mut self, entry: &DeadLetterEntry, now: Timestamp, until: Timestamp) -> bool {
        match self.by_id.get_mut(&entry.id) {
            Some(slot) if slot.at == entry.at && slot.leased_until <= now => {
                slot.leased_until = until;
                true
            }
            Some(_) | None => false,
        }
    }

    fn forget(&mut self, entry: &DeadLetterEntry) {
        if self.by_id.get(&entry.id).is_some_and(|slot| slot.at == entry.at) {
            self.by_id.remove(&entry.id);
            self.by_time.remove(&place(entry));
        }
    }
}

#[async_trait]
impl DeadLetters for MemoryStore {
    async fn list(
        &self,
        filter: &DeadLetterFilter,
        after: Option<&DeadLetterCursor>,
        limit: usize,
    ) -> Result<Vec<DeadLetterEntry>, Fault> {
        let index = self.dead.lock();
        let rest = index.by_time.iter().skip_while(|(place, _)| after.is_some_and(|after| *place <= after));
        Ok(rest.map(|(_, entry)| entry).filter(|entry| filter.admits(entry)).take(limit).cloned().collect())
    }

    async fn find(&self, id: &WebhookId) -> Result<Option<DeadLetterEntry>, Fault> {
        let index = self.dead.lock();
        let place = index.by_id.get(id).map(|slot| DeadLetterCursor { at: slot.at, id: id.clone() });
        Ok(place.and_then(|place| index.by_time.get(&place)).cloned())
    }

    async fn lease(&self, entry: &DeadLetterEntry, now: Timestamp, until: Timestamp) -> Result<bool, Fault> {
        Ok(self.dead.lock().lease(entry, now, until))
    }

    async fn forget(&self, entry: &DeadLetterEntry) -> Result<(), Fault> {
        self.dead.lock().forget(entry);
        Ok(())
    }
}
