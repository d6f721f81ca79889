//! Feeds that observe when the first record was read and when every record is committed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::log::{Feed, LogRecord};
use domain::Position;
use tokio::sync::Notify;

use crate::measure::instant;

/// The progress of all feeds of a round.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    seen: Mutex<Seen>,
    moved: Notify,
}

#[derive(Debug, Default)]
struct Seen {
    first_at: Option<Instant>,
    /// The first offset that was read of each partition, and the offset up to which it is committed.
    partitions: BTreeMap<u32, (u64, u64)>,
}

impl Progress {
    /// Waits until `count` records are committed, and returns when the first of them was read.
    pub(crate) async fn committed(&self, count: u32) -> Option<Instant> {
        loop {
            let moved = self.moved.notified();
            {
                let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                let committed: u64 =
                    seen.partitions.values().map(|(first, committed)| committed.saturating_sub(*first)).sum();
                if committed >= u64::from(count) {
                    return seen.first_at;
                }
            }
            moved.await;
        }
    }

    fn record_read(&self, records: &[LogRecord]) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.first_at.get_or_insert_with(instant);
        for Position { partition, offset } in records.iter().map(|record| record.position) {
            let (first, _) = seen.partitions.entry(partition).or_insert((offset, offset));
            *first = offset.min(*first);
        }
    }

    fn commit(&self, position: Position) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, committed)) = seen.partitions.get_mut(&position.partition) {
            *committed = position.offset.max(*committed);
        }
        drop(seen);
        self.moved.notify_one();
    }
}

/// A feed whose progress is observed.
pub(crate) struct Watched {
    feed: Arc<dyn Feed>,
    progress: Arc<Progress>,
}

/// Observes feeds together.
pub(crate) fn watch(feeds: Vec<Arc<dyn Feed>>, progress: &Arc<Progress>) -> Vec<Arc<dyn Feed>> {
    let watched = |feed| -> Arc<dyn Feed> { Arc::new(Watched { feed, progress: Arc::clone(progress) }) };
    feeds.into_iter().map(watched).collect()
}

#[async_trait]
impl Feed for Watched {
    async fn next(&self, max: usize) -> Result<Vec<LogRecord>, Fault> {
        let records = self.feed.next(max).await?;
        self.progress.record_read(&records);
        Ok(records)
    }

    async fn commit(&self, position: Position) -> Result<(), Fault> {
        self.feed.commit(position).await?;
        self.progress.commit(position);
        Ok(())
    }
}
