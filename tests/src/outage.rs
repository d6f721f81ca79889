//! A log that can be out of reach for a while: it refuses every record and question, or those of one topic. Its pages may be short.

use std::sync::Arc;

use async_trait::async_trait;
use delivery::ports::log::{Extent, Log, Page};
use delivery::{Fault, FaultKind};
use domain::{Position, Record, Topic};
use parking_lot::Mutex;

/// Passes everything on unless told that a topic is out of reach.
pub struct Outage {
    inner: Arc<dyn Log>,
    down: Mutex<Vec<Topic>>,
    kind: Mutex<FaultKind>,
    page_max: Mutex<usize>,
}

impl Outage {
    /// A log that is well.
    pub fn new(inner: Arc<dyn Log>) -> Self {
        let (kind, page_max) = (Mutex::new(FaultKind::Transient), Mutex::new(usize::MAX));
        Self { inner, down: Mutex::default(), kind, page_max }
    }

    /// Takes topics out of reach; none brings all of them back.
    pub fn strike(&self, topics: &[Topic]) {
        *self.down.lock() = topics.to_vec();
    }

    /// What kind of fault a topic out of reach is from now on.
    pub fn fail_with(&self, kind: FaultKind) {
        *self.kind.lock() = kind;
    }

    fn reach(&self, topic: Topic) -> Result<(), Fault> {
        let is_down = self.down.lock().contains(&topic);
        if is_down { Err(Fault::new(*self.kind.lock(), "the log is out of reach")) } else { Ok(()) }
    }

    /// Lets no page hold more records than this, whatever is asked for.
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
