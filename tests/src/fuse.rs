//! A fuse before log and store: it blows after so many effects, as a process dies, or fails one call and goes on.
//!
//! Every record and every write counts as one effect, so that "stop after effect k" is tried for every k although
//! neighbours share a round trip.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use delivery::ports::hot_state::{AcquireRequest, Change, HotState};
use delivery::ports::log::{Extent, Log, Page};
use delivery::ports::schedule::{Depth, Lease, Schedule};
use delivery::{Fault, FaultKind};
use domain::{
    ClaimFact, EndpointSetting, EndpointState, Facts, LeaseFact, Memory, Position, Record, Timestamp, Token, Topic,
    Transition, Waiting, WebhookId, Write,
};

/// What happens when the fuse blows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// The process is dead: nothing after it happens.
    Dies,
    /// That one call fails, the next ones work.
    FailsOnce,
}

/// Counts effects and blows after `allowed` of them.
pub struct Fuse {
    log: Arc<dyn Log>,
    hot: Arc<dyn HotState>,
    schedule: Arc<dyn Schedule>,
    allowed: usize,
    blow: Blow,
    done: AtomicUsize,
}

fn dead() -> Fault {
    Fault::new(FaultKind::Transient, "the process is dead")
}

impl Fuse {
    /// Puts a fuse before log and store.
    pub fn new(log: Arc<dyn Log>, store: Arc<in_memory::MemoryStore>, (allowed, blow): (usize, Blow)) -> Self {
        let (hot, schedule) = (Arc::<in_memory::MemoryStore>::clone(&store), store);
        Self { log, hot, schedule, allowed, blow, done: AtomicUsize::new(0) }
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
        self.log.extents(topic).await
    }

    async fn read(&self, topic: Topic, from: Position, limit: usize) -> Result<Page, Fault> {
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
        self.hot.acquire(request).await
    }

    async fn apply(&self, writes: Vec<Write>) -> Result<Option<EndpointState>, Fault> {
        let mut state = None;
        for write in writes {
            self.pass()?;
            state = self.hot.apply(vec![write]).await?.or(state);
        }
        Ok(state)
    }

    async fn change(&self, transition: &Transition) -> Result<Change, Fault> {
        self.pass()?;
        self.hot.change(transition).await
    }
}

#[async_trait]
impl Schedule for Fuse {
    async fn lease(&self, lease: &Lease, max: usize) -> Result<Vec<Waiting>, Fault> {
        self.pass()?;
        self.schedule.lease(lease, max).await
    }

    async fn forget(&self, lease: &Lease, ids: &[WebhookId]) -> Result<(), Fault> {
        for id in ids {
            self.pass()?;
            self.schedule.forget(lease, std::slice::from_ref(id)).await?;
        }
        Ok(())
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, Fault> {
        self.schedule.next_due().await
    }

    async fn depth(&self, now: Timestamp) -> Result<Depth, Fault> {
        self.schedule.depth(now).await
    }
}
