//! A log that can be out of reach for a while: it refuses what is published to some topics or to all, and every query for
//! their extents. Its pages may be short.

use std::sync::Arc;

use async_trait::async_trait;
use delivery::ports::log::{Extent, Log, Page};
use delivery::{Fault, FaultKind};
use domain::{Position, Record, Topic};
use parking_lot::Mutex;

/// Passes everything on, except to a topic that a test has taken out of reach.
pub struct Outage {
    inner: Arc<dyn Log>,
    down: Mutex<Vec<Topic>>,
    kind: Mutex<FaultKind>,
    page_max: Mutex<usize>,
}

impl Outage {
    /// A log of which every topic is in reach.
    pub fn new(inner: Arc<dyn Log>) -> Self {
        let (kind, page_max) = (Mutex::new(FaultKind::Transient), Mutex::new(usize::MAX));
        Self { inner, down: Mutex::default(), kind, page_max }
    }

    /// Takes these topics out of reach, and brings all others back.
    pub fn strike(&self, topics: &[Topic]) {
        *self.down.lock() = topics.to_vec();
    }

    /// Sets the kind of the faults of a topic that is out of reach.
    pub fn fail_with(&self, kind: FaultKind) {
        *self.kind.lock() = kind;
    }

    fn reach(&self, topic: Topic) -> Result<(), Fault> {
        let is_down = self.down.lock().contains(&topic);
        if is_down { Err(Fault::new(*self.kind.lock(), "the log is out of reach")) } else { Ok(()) }
    }

    /// Bounds every page to this many records.
    pub fn shorten_pages(&self, page_max: usize) {
        *self.page_max.lock() = page_max;
    }
}

#[async_trait]
impl Log for Outage {
    async fn publish(&self, records: Vec<Record>) -> Result<Vec<Position>, Fault> {
        for record in &records {
            self.reach(record.topic())?;
        }
        self.inner.publish(records).await
    }

    async fn extents(&self, topic: Topic) -> Result<Vec<Extent>, Fault> {
        self.reach(topic)?;
        self.inner.extents(topic).await
    }

    async fn read(&self, topic: Topic, from: Position, limit: usize) -> Result<Page, Fault> {
        let limit = limit.min(*self.page_max.lock());
        self.inner.read(topic, from, limit).await
    }

    async fn lag(&self, topic: Topic) -> Result<u64, Fault> {
        self.inner.lag(topic).await
    }
}
