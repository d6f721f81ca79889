//! Use-case dead letters: list what was given up, read it, replay it once.
//!
//! A replay publishes first and forgets last. Two callers of one dead_letter: the lease lets one through; if that one dies
//! after publishing, a second replay makes the same dispatch, and a dispatch is claimed once.

use std::sync::Arc;
use std::time::Duration;

use domain::{DeadLetter, DeadLetterEntry, Dispatch, Lane, Record, Status, Topic, WebhookId, Write};

use crate::fault::Fault;
use crate::groups::{GROUP_BYTES_MAX, bytes_of};
use crate::ports::dead_letters::{DeadLetterCursor, DeadLetterFilter, DeadLetters};
use crate::ports::hot_state::HotState;
use crate::ports::log::Log;
use crate::ports::time::Clock;

/// How long one replay may take before another caller may repeat it.
const REPLAY_LEASE: Duration = Duration::from_secs(30);
/// How many dead letters are asked for together.
const REPLAY_BATCH: usize = 200;

/// Lists and replays dead letters.
#[derive(Clone)]
pub struct DeadLetterService {
    /// Where the dead letters stand, and where replays go.
    pub log: Arc<dyn Log>,
    /// Where readers find the status.
    pub hot: Arc<dyn HotState>,
    /// The index.
    pub index: Arc<dyn DeadLetters>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// A dead letter and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The index entry.
    pub entry: DeadLetterEntry,
    /// The dead letter; `None` once the log's retention has taken it.
    pub dead_letter: Option<DeadLetter>,
}

/// What became of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replayed {
    /// It was handed to the fast lane as this dispatch.
    Yes(u64),
    /// There is no such dead letter (any more), or the log's retention has taken it.
    NotFound,
    /// Another caller replays it at this moment.
    InProgress,
}

impl DeadLetterService {
    /// Dead letters that `filter` admits, oldest first, after `after`, at most `limit`.
    ///
    /// # Errors
    /// A [`Fault`] of the log or the store.
    pub async fn list(
        &self,
        filter: &DeadLetterFilter,
        after: Option<&DeadLetterCursor>,
        limit: usize,
    ) -> Result<Vec<Listed>, Fault> {
        let entries = self.index.list(filter, after, limit).await?;
        futures::future::try_join_all(entries.into_iter().map(async |entry| {
            let dead_letter = self.dead_letter(&entry).await?;
            Ok(Listed { entry, dead_letter })
        }))
        .await
    }

    /// Replays one dead letter: a new life, from attempt 1.
    ///
    /// # Errors
    /// A [`Fault`] of the log or the store; the dead letter stays, and replaying it again is safe.
    pub async fn replay(&self, id: &WebhookId) -> Result<Replayed, Fault> {
        let Some(entry) = self.index.find(id).await? else {
            return Ok(Replayed::NotFound);
        };
        match self.replay_all(vec![entry.clone()]).await?.as_slice() {
            [(_, dispatch)] => Ok(Replayed::Yes(*dispatch)),
            _ if self.dead_letter(&entry).await?.is_none() => Ok(Replayed::NotFound),
            _ => Ok(Replayed::InProgress),
        }
    }

    /// Replays every dead letter that `filter` admits and that was given up before this call. Returns their ids.
    ///
    /// # Errors
    /// A [`Fault`] of the log or the store: a part may be replayed; calling again replays the rest.
    pub async fn replay_matching(&self, filter: &DeadLetterFilter) -> Result<Vec<WebhookId>, Fault> {
        let now = self.clock.now();
        // What dies again while this runs is not replayed in circles.
        let until = filter.until.map_or(now.plus(Duration::from_millis(1)), |until| until.min(now));
        let filter = DeadLetterFilter { until: Some(until), ..filter.clone() };
        let (mut replayed, mut after) = (Vec::new(), None);
        loop {
            let entries = self.index.list(&filter, after.as_ref(), REPLAY_BATCH).await?;
            let Some(last) = entries.last() else {
                return Ok(replayed);
            };
            after = Some(DeadLetterCursor { at: last.at, id: last.id.clone() });
            replayed.extend(self.replay_all(entries).await?.into_iter().map(|(id, _)| id));
        }
    }

    /// Replays dead letters group by group. One that was replayed is off the index before the next group's are leased.
    async fn replay_all(&self, entries: Vec<DeadLetterEntry>) -> Result<Vec<(WebhookId, u64)>, Fault> {
        let (mut replayed, mut group, mut bytes) = (Vec::new(), Vec::new(), 0);
        for entry in entries {
            let now = self.clock.now();
            if self.index.lease(&entry, now, now.plus(REPLAY_LEASE)).await?
                && let Some(dead_letter) = self.dead_letter(&entry).await?
            {
                bytes += bytes_of(&dead_letter.dispatch);
                group.push((entry, dead_letter.dispatch.replay(now)));
            }
            // What one dead letter brings may go beyond.
            if bytes >= GROUP_BYTES_MAX {
                replayed.extend(self.replay_group(std::mem::take(&mut group)).await?);
                bytes = 0;
            }
        }
        replayed.extend(self.replay_group(group).await?);
        Ok(replayed)
    }

    async fn replay_group(&self, leased: Vec<(DeadLetterEntry, Dispatch)>) -> Result<Vec<(WebhookId, u64)>, Fault> {
        if leased.is_empty() {
            return Ok(Vec::new());
        }
        let records = leased.iter().map(|(_, dispatch)| Record::Dispatch(Lane::Fast, dispatch.clone())).collect();
        self.log.publish(records).await?;
        let statuses = leased.iter().map(|(entry, dispatch)| {
            let (id, config_id) = (entry.id.clone(), entry.config_id.clone());
            let status = Status::pending(id, config_id, dispatch.number, dispatch.scheduled_at);
            Write::Merge(Status { life: dispatch.replayed_from, ..status })
        });
        self.hot.apply(statuses.collect()).await?;
        for (entry, _) in &leased {
            self.index.forget(entry).await?;
        }
        Ok(leased.into_iter().map(|(entry, dispatch)| (entry.id, dispatch.number)).collect())
    }

    async fn dead_letter(&self, entry: &DeadLetterEntry) -> Result<Option<DeadLetter>, Fault> {
        let page = self.log.read(Topic::DeadLetter, entry.position, 1).await?;
        Ok(page.records.into_iter().find(|record| record.position == entry.position).and_then(|record| match record
            .value
        {
            Ok(Record::DeadLetter(dead_letter)) => Some(dead_letter),
            Ok(_) | Err(_) => None,
        }))
    }
}
