//! One webhook each: claim and fence, status, last attempts.

use std::collections::{BTreeMap, VecDeque};

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::statuses::Statuses;
use domain::{
    ATTEMPTS_KEPT, Attempt, ClaimFact, ClaimRequest, ClaimState, Fence, Phase, Settlement, Status, Timestamp,
    WebhookId,
};

use crate::MemoryStore;
use crate::store::shards::Shards;

#[derive(Debug)]
pub(super) struct WebhookShards {
    shards: Shards<Shard>,
    /// Finished webhooks that a shard keeps.
    finished_max: usize,
}

#[derive(Debug, Default)]
struct Shard {
    entries: BTreeMap<WebhookId, Entry>,
    /// Finished webhooks, oldest first: what is forgotten when there are too many.
    finished: VecDeque<WebhookId>,
}

impl Shard {
    fn merge(&mut self, status: Status, attempt: Option<Attempt>, finished_max: usize) {
        let id = status.id.clone();
        let entry = self.entries.entry(id.clone()).or_default();
        if let Some(attempt) = attempt {
            entry.add_attempt(attempt);
        }
        if !entry.merge(status) {
            return;
        }
        self.finished.push_back(id);
        if self.finished.len() > finished_max
            && let Some(oldest) = self.finished.pop_front()
            && self.entries.get(&oldest).is_some_and(|entry| entry.claim.terminal)
        {
            self.entries.remove(&oldest);
        }
    }
}

#[derive(Debug, Default)]
struct Entry {
    claim: ClaimState,
    status: Option<Status>,
    attempts: Vec<Attempt>,
}

impl Entry {
    /// Merges a status; what the claim goes by follows from it. Returns whether the webhook's life just ended.
    fn merge(&mut self, status: Status) -> bool {
        let merged = match self.status.take() {
            Some(known) => known.merge(status),
            None => status,
        };
        let ended = merged.phase.is_terminal() && !self.claim.terminal;
        self.claim.follow(&merged);
        self.status = Some(merged);
        ended
    }

    fn add_attempt(&mut self, attempt: Attempt) {
        let place = |attempt: &Attempt| (attempt.dispatch, attempt.number);
        if let Err(index) = self.attempts.binary_search_by_key(&place(&attempt), place) {
            self.attempts.insert(index, attempt);
        }
        let surplus = self.attempts.len().saturating_sub(ATTEMPTS_KEPT);
        self.attempts.drain(..surplus);
    }
}

impl WebhookShards {
    pub(super) fn new(finished_max: usize) -> Self {
        Self { shards: Shards::default(), finished_max: finished_max.div_ceil(Shards::<Shard>::COUNT) }
    }

    pub(super) fn wipe(&self) {
        self.shards.wipe();
    }

    pub(super) fn claim(&self, id: &WebhookId, request: &ClaimRequest, now: Timestamp) -> ClaimFact {
        self.shards.of(id.as_str()).entries.entry(id.clone()).or_default().claim.take(request, now)
    }

    pub(super) fn unclaim(&self, id: &WebhookId, fence: Fence) {
        if let Some(entry) = self.shards.of(id.as_str()).entries.get_mut(id) {
            entry.claim.give_back(fence);
        }
    }

    pub(super) fn settle(&self, settlement: Settlement) {
        let Settlement { fence, status, attempt } = settlement;
        let mut shard = self.shards.of(status.id.as_str());
        if let Some(fence) = fence {
            let entry = shard.entries.entry(status.id.clone()).or_default();
            if !entry.claim.admits(status.settled(), fence) {
                return;
            }
            entry.claim.held = None;
        }
        shard.merge(status, attempt, self.finished_max);
    }

    pub(super) fn merge(&self, status: Status) {
        self.shards.of(status.id.as_str()).merge(status, None, self.finished_max);
    }

    fn status(&self, id: &WebhookId) -> Option<Status> {
        let shard = self.shards.of(id.as_str());
        let entry = shard.entries.get(id)?;
        let status = entry.status.clone()?;
        let taken_up = entry.claim.held.as_ref().is_some_and(|(dispatch, ..)| *dispatch == status.dispatch);
        let phase = if status.phase == Phase::Pending && taken_up { Phase::Delivering } else { status.phase };
        Some(Status { phase, ..status })
    }
}

#[async_trait]
impl Statuses for MemoryStore {
    async fn statuses(&self, ids: &[WebhookId]) -> Result<Vec<Option<Status>>, Fault> {
        Ok(ids.iter().map(|id| self.webhooks.status(id)).collect())
    }

    async fn attempts(&self, id: &WebhookId) -> Result<Option<Vec<Attempt>>, Fault> {
        let shard = self.webhooks.shards.of(id.as_str());
        Ok(shard.entries.get(id).filter(|entry| entry.status.is_some()).map(|entry| entry.attempts.clone()))
    }
}
