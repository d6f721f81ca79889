//! A fuse before the log and every port of the store: it blows after so many effects. Then the process counts as dead, or
//! that one call fails and the next ones work.
//!
//! Every record, every write and every call that reads or leases counts as one effect, so that "stop after effect k" is
//! tried for every k although neighbouring effects share a round trip.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use delivery::ports::dead_letters::{DeadLetterCursor, DeadLetterFilter, DeadLetters};
use delivery::ports::endpoints::{EndpointView, Endpoints};
use delivery::ports::hot_state::{AcquireRequest, Change, HotState};
use delivery::ports::log::{Extent, Log, Page};
use delivery::ports::recovery::{Cursor, Epoch, Recovery};
use delivery::ports::schedule::{Depth, Lease, Schedule};
use delivery::ports::statuses::Statuses;
use delivery::{Fault, FaultKind};
use domain::{
    Attempt, ClaimFact, ClaimHolder, ConfigId, DeadLetterEntry, EndpointHash, EndpointSetting, EndpointState, Facts,
    Fence, LeaseFact, Memory, Position, Record, Status, Timestamp, Token, Topic, Transition, Waiting, WebhookId,
    Write,
};
use in_memory::MemoryStore;

/// What happens when the fuse blows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// The process is dead: no later effect happens.
    Dies,
    /// One call fails, and the next ones work.
    FailsOnce,
}

/// Counts effects and blows after `allowed` of them.
pub struct Fuse {
    log: Arc<dyn Log>,
    store: Arc<MemoryStore>,
    allowed: usize,
    blow: Blow,
    done: AtomicUsize,
}

fn dead() -> Fault {
    Fault::new(FaultKind::Transient, "the process is dead")
}

impl Fuse {
    /// Puts a fuse before log and store.
    pub fn new(log: Arc<dyn Log>, store: Arc<MemoryStore>, (allowed, blow): (usize, Blow)) -> Self {
        Self { log, store, allowed, blow, done: AtomicUsize::new(0) }
    }

    /// Whether it blew.
    pub fn has_blown(&self) -> bool {
        self.done.load(Ordering::SeqCst) > self.allowed
    }

    fn pass(&self) -> Result<(), Fault> {
        let done = self.done.fetch_add(1, Ordering::SeqCst);
        let blows = match self.blow {
            Blow::Dies => done >= self.allowed,
            Blow::FailsOnce => done == self.allowed,
        };
        if blows { Err(dead()) } else { Ok(()) }
    }
}

#[async_trait]
impl Log for Fuse {
    async fn publish(&self, records: Vec<Record>) -> Result<Vec<Position>, Fault> {
        let mut positions = Vec::new();
        for record in records {
            self.pass()?;
            positions.extend(self.log.publish(vec![record]).await?);
        }
        Ok(positions)
    }

    async fn extents(&self, topic: Topic) -> Result<Vec<Extent>, Fault> {
        self.pass()?;
        self.log.extents(topic).await
    }

    async fn read(&self, topic: Topic, from: Position, limit: usize) -> Result<Page, Fault> {
        self.pass()?;
        self.log.read(topic, from, limit).await
    }

    async fn lag(&self, topic: Topic) -> Result<u64, Fault> {
        self.log.lag(topic).await
    }
}

#[async_trait]
impl HotState for Fuse {
    async fn acquire(&self, request: AcquireRequest<'_>) -> Facts {
        if self.pass().is_err() {
            return Facts {
                memory: Memory::Unknown,
                claim: ClaimFact::Unknown,
                endpoint: None,
                setting: EndpointSetting::Active,
                on_endpoint: LeaseFact::Unlimited,
                on_domain: LeaseFact::Unlimited,
                token: Token::Free,
                holder: String::new(),
            };
        }
        self.store.acquire(request).await
    }

    async fn apply(&self, writes: Vec<Write>) -> Result<Option<EndpointState>, Fault> {
        let mut state = None;
        for write in writes {
            self.pass()?;
            state = self.store.apply(vec![write]).await?.or(state);
        }
        Ok(state)
    }

    async fn change(&self, transition: &Transition) -> Result<Change, Fault> {
        self.pass()?;
        self.store.change(transition).await
    }
}

#[async_trait]
impl Schedule for Fuse {
    async fn lease(&self, lease: &Lease, max: usize) -> Result<Vec<Waiting>, Fault> {
        self.pass()?;
        Schedule::lease(&*self.store, lease, max).await
    }

    async fn forget(&self, lease: &Lease, ids: &[WebhookId]) -> Result<(), Fault> {
        for id in ids {
            self.pass()?;
            Schedule::forget(&*self.store, lease, std::slice::from_ref(id)).await?;
        }
        Ok(())
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, Fault> {
        self.store.next_due().await
    }

    async fn depth(&self, now: Timestamp) -> Result<Depth, Fault> {
        self.store.depth(now).await
    }
}

#[async_trait]
impl Statuses for Fuse {
    async fn statuses(&self, ids: &[WebhookId]) -> Result<Vec<Option<Status>>, Fault> {
        self.pass()?;
        self.store.statuses(ids).await
    }

    async fn attempts(&self, id: &WebhookId) -> Result<Option<Vec<Attempt>>, Fault> {
        self.pass()?;
        self.store.attempts(id).await
    }
}

#[async_trait]
impl Endpoints for Fuse {
    async fn endpoint(&self, hash: &EndpointHash, now: Timestamp) -> Result<Option<EndpointView>, Fault> {
        self.pass()?;
        self.store.endpoint(hash, now).await
    }

    async fn unhealthy(&self, after: Option<&EndpointHash>, limit: usize) -> Result<Vec<EndpointHash>, Fault> {
        self.pass()?;
        self.store.unhealthy(after, limit).await
    }

    async fn held(&self, hash: &EndpointHash, config: &ConfigId, limit: usize) -> Result<Vec<Waiting>, Fault> {
        self.pass()?;
        self.store.held(hash, config, limit).await
    }
}

#[async_trait]
impl DeadLetters for Fuse {
    async fn list(
        &self,
        filter: &DeadLetterFilter,
        after: Option<&DeadLetterCursor>,
        limit: usize,
    ) -> Result<Vec<DeadLetterEntry>, Fault> {
        self.pass()?;
        self.store.list(filter, after, limit).await
    }

    async fn find(&self, id: &WebhookId) -> Result<Option<DeadLetterEntry>, Fault> {
        self.pass()?;
        self.store.find(id).await
    }

    async fn lease(&self, entry: &DeadLetterEntry, now: Timestamp, until: Timestamp) -> Result<bool, Fault> {
        self.pass()?;
        DeadLetters::lease(&*self.store, entry, now, until).await
    }

    async fn forget(&self, entry: &DeadLetterEntry) -> Result<(), Fault> {
        self.pass()?;
        DeadLetters::forget(&*self.store, entry).await
    }
}

#[async_trait]
impl Recovery for Fuse {
    async fn epoch(&self) -> Result<Option<Epoch>, Fault> {
        self.pass()?;
        self.store.epoch().await
    }

    async fn lock(
        &self,
        holder: &ClaimHolder,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<(Fence, Cursor)>, Fault> {
        self.pass()?;
        self.store.lock(holder, now, until).await
    }

    async fn advance(&self, fence: Fence, cursor: &Cursor) -> Result<bool, Fault> {
        self.pass()?;
        self.store.advance(fence, cursor).await
    }

    async fn complete(&self, fence: Fence, epoch: &Epoch) -> Result<bool, Fault> {
        self.pass()?;
        self.store.complete(fence, epoch).await
    }

    async fn fingerprint(&self) -> Result<u64, Fault> {
        self.pass()?;
        self.store.fingerprint().await
    }
}
