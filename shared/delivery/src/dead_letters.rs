//! Use-case dead letters: list what ended without a delivery, read it, replay it.
//!
//! The API calls it. What becomes of a replay, and in which order it is done, is [`domain::replay`]'s to decide; this
//! use-case gathers the facts and has the effects performed, group by group.

use std::sync::Arc;
use std::time::Duration;

use domain::{
    DeadLetter, DeadLetterEntry, Dispatch, Record, Replay, ReplayFacts, Timestamp, Topic, WebhookId, replay,
    replay_effects,
};

use crate::effects::{Ports, Progress, perform};
use crate::fault::Fault;
use crate::groups::{GROUP_BYTES_MAX, bytes_of};
use crate::ports::dead_letters::{DeadLetterCursor, DeadLetterFilter, DeadLetters};
use crate::ports::hot_state::HotState;
use crate::ports::log::Log;
use crate::ports::time::Clock;

/// How long one replay may take before another caller may repeat it: many times what a publish and two writes take, and
/// short enough for an operator to wait when the first caller has died.
const REPLAY_LEASE: Duration = Duration::from_secs(30);
/// How many index entries are read together: a bound on memory. What is published together is bounded by bytes.
const REPLAY_BATCH: usize = 200;

/// Lists and replays dead letters.
#[derive(Clone)]
pub struct DeadLetterService {
    /// Where the dead letters stand, and where replays are published.
    pub log: Arc<dyn Log>,
    /// Where the status of a replayed webhook is written.
    pub hot: Arc<dyn HotState>,
    /// The index of dead letters.
    pub index: Arc<dyn DeadLetters>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// A dead letter and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The index entry.
    pub entry: DeadLetterEntry,
    /// The dead letter; `None` once the log's retention has removed it.
    pub dead_letter: Option<DeadLetter>,
}

/// What became of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replayed {
    /// The webhook was handed to the fast lane as this dispatch.
    Yes(u64),
    /// No such dead letter is on the index, or the log's retention has removed it.
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

    /// Replays one dead letter: a new life of its webhook, from attempt 1.
    ///
    /// # Errors
    /// A [`Fault`] of the log or the store. The dead letter stays on the index, and replaying it again is safe.
    pub async fn replay(&self, id: &WebhookId) -> Result<Replayed, Fault> {
        let Some(entry) = self.index.find(id).await? else {
            return Ok(Replayed::NotFound);
        };
        let (facts, now) = self.facts(entry).await?;
        match replay(&facts, now) {
            Replay::Begin(dispatch) => {
                let number = dispatch.number;
                self.begin(vec![(facts.entry, dispatch)]).await?;
                Ok(Replayed::Yes(number))
            }
            Replay::NotFound => Ok(Replayed::NotFound),
            Replay::InProgress => Ok(Replayed::InProgress),
        }
    }

    /// Replays every dead letter that `filter` admits and that is older than this call. Returns their ids.
    ///
    /// # Errors
    /// A [`Fault`] of the log or the store: a part may be replayed; calling again replays the rest.
    pub async fn replay_matching(&self, filter: &DeadLetterFilter) -> Result<Vec<WebhookId>, Fault> {
        let now = self.clock.now();
        // A webhook that dies again while this runs is not replayed in circles.
        let until = filter.until.map_or(now.plus(Duration::from_millis(1)), |until| until.min(now));
        let filter = DeadLetterFilter { until: Some(until), ..filter.clone() };
        let (mut replayed, mut after) = (Vec::new(), None);
        loop {
            let entries = self.index.list(&filter, after.as_ref(), REPLAY_BATCH).await?;
            let Some(last) = entries.last() else {
                return Ok(replayed);
            };
            after = Some(DeadLetterCursor { at: last.at, id: last.id.clone() });
            replayed.extend(self.replay_all(entries).await?);
        }
    }

    /// Replays dead letters group by group. The entries of one group are off the index before those of the next are
    /// leased, so a repetition after a fault gets further.
    async fn replay_all(&self, entries: Vec<DeadLetterEntry>) -> Result<Vec<WebhookId>, Fault> {
        let (mut replayed, mut group, mut bytes) = (Vec::new(), Vec::new(), 0);
        for entry in entries {
            let (facts, now) = self.facts(entry).await?;
            if let Replay::Begin(dispatch) = replay(&facts, now) {
                bytes += bytes_of(&dispatch);
                group.push((facts.entry, dispatch));
            }
            // A dead letter's size is known only once it is read, so the last one of a group may exceed the bound.
            if bytes >= GROUP_BYTES_MAX {
                replayed.extend(self.begin(std::mem::take(&mut group)).await?);
                bytes = 0;
            }
        }
        replayed.extend(self.begin(group).await?);
        Ok(replayed)
    }

    /// Leases an entry and reads its dead letter; returns with the facts the time that the lease was taken at.
    async fn facts(&self, entry: DeadLetterEntry) -> Result<(ReplayFacts, Timestamp), Fault> {
        let now = self.clock.now();
        let is_leased = self.index.lease(&entry, now, now.plus(REPLAY_LEASE)).await?;
        let dead_letter = self.dead_letter(&entry).await?;
        Ok((ReplayFacts { entry, is_leased, dead_letter }, now))
    }

    /// Begins the new lives of a group.
    async fn begin(&self, group: Vec<(DeadLetterEntry, Dispatch)>) -> Result<Vec<WebhookId>, Fault> {
        let ports = Ports { log: &*self.log, hot: &*self.hot, index: Some(&*self.index) };
        perform(replay_effects(&group), &mut Progress::default(), ports).await?;
        Ok(group.into_iter().map(|(entry, _)| entry.id).collect())
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
