//! A log under test, and short ways to call it.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use delivery::ports::log::{Extent, Feed, Log, LogRecord};
use domain::{Dispatch, Lane, Position, Record, Topic, Webhook};

use crate::generate::{config_id, webhook};

/// One fresh and isolated log, with what the suites need beside the port.
#[async_trait]
pub trait LogUnderTest: Send + Sync {
    /// The log.
    fn log(&self) -> Arc<dyn Log>;

    /// Joins the consumer group of a lane's topic. Dropping the feed leaves it.
    async fn join(&self, topic: Topic) -> Arc<dyn Feed>;

    /// Lets compaction of a topic run now; `false` when it runs only when it likes.
    async fn compact(&self, topic: Topic) -> bool {
        _ = topic;
        false
    }
}

pub(super) async fn publish(log: &dyn Log, records: &[Record]) -> Vec<Position> {
    let positions = log.publish(records.to_vec()).await.expect("the log takes records");
    assert_eq!(positions.len(), records.len(), "a position for every record");
    positions
}

pub(super) async fn extents(log: &dyn Log, topic: Topic) -> Vec<Extent> {
    log.extents(topic).await.expect("the log answers")
}

/// Everything between the ends of a topic, read in pages of 7.
pub(super) async fn read_all(log: &dyn Log, topic: Topic) -> Vec<LogRecord> {
    let mut all = Vec::new();
    for extent in extents(log, topic).await {
        let mut offset = extent.start;
        while offset < extent.end {
            let from = Position { partition: extent.partition, offset };
            let page = log.read(topic, from, 7).await.expect("the log reads");
            assert!(page.records.len() <= 7, "at most as many as asked for");
            assert!(page.next > offset, "a page before the end goes on: {page:?}");
            assert!(page.records.iter().all(|record| record.position.partition == extent.partition));
            let offsets: Vec<_> = page.records.iter().map(|record| record.position.offset).collect();
            assert!(offsets.is_sorted() && offsets.iter().all(|at| (offset..page.next).contains(at)), "{offsets:?}");
            all.extend(page.records);
            offset = page.next;
        }
    }
    all
}

/// So many fresh dispatches for the fast lane, of as many tenants as `tenants`.
pub(super) fn dispatches(count: usize, tenants: usize) -> Vec<Record> {
    let configs: Vec<_> = (0..tenants).map(|_| config_id()).collect();
    let owned = configs.iter().cycle().take(count);
    owned
        .map(|config| Webhook { config_id: config.clone(), ..webhook() })
        .map(|webhook| Record::Dispatch(Lane::Fast, Dispatch::first(Arc::new(webhook))))
        .collect()
}

/// What was published, by position.
pub(super) fn by_position(positions: Vec<Position>, records: &[Record]) -> BTreeMap<Position, Record> {
    positions.into_iter().zip(records.iter().cloned()).collect()
}

/// What was read, by position; every record must be readable.
pub(super) fn found(records: Vec<LogRecord>) -> BTreeMap<Position, Record> {
    records.into_iter().map(|record| (record.position, record.value.expect("it is readable"))).collect()
}
