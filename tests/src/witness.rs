//! A log that keeps a copy of everything that was published, in order: the reference models judge by it.

use std::sync::Arc;

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::log::{Extent, Log, Page};
use domain::{Position, Record, Topic};
use parking_lot::Mutex;

/// Passes everything on and keeps a copy of what was acknowledged.
pub struct Witness {
    inner: Arc<dyn Log>,
    published: Mutex<Vec<Record>>,
}

impl Witness {
    /// Watches a log.
    pub fn new(inner: Arc<dyn Log>) -> Self {
        Self { inner, published: Mutex::default() }
    }

    /// Everything that was acknowledged, in order.
    pub fn published(&self) -> Vec<Record> {
        self.published.lock().clone()
    }
}

#[async_trait]
impl Log for Witness {
    async fn publish(&self, records: Vec<Record>) -> Result<Vec<Position>, Fault> {
        let positions = self.inner.publish(records.clone()).await?;
        self.published.lock().extend(records);
        Ok(positions)
    }

    async fn extents(&self, topic: Topic) -> Result<Vec<Extent>, Fault> {
        self.inner.extents(topic).await
    }

    async fn read(&self, topic: Topic, from: Position, limit: usize) -> Result<Page, Fault> {
        self.inner.read(topic, from, limit).await
    }

    async fn lag(&self, topic: Topic) -> Result<u64, Fault> {
        self.inner.lag(topic).await
    }
}
