//! Use-case rebuild: the hot state from the log (RB-1). The reconciler calls it, on a timer and on demand.
//!
//! Phase 1 replays `howk.state`: the schedule, what is parked, the gates. Then the epoch is set and work goes on.
//! Statuses and the dead-letter index follow behind, newest first. It reads the end offsets before the first record and
//! stops on position; it resumes from its cursor; a second one at the same time finds the lock taken. It never deletes
//! what is live: everything merges.

use std::sync::Arc;
use std::time::Duration;

use domain::{Fence, Owner, Phase, Position, Record, Timestamp, Topic, Write, rebuild};

use crate::fault::Fault;
use crate::observe;
use crate::ports::hot_state::HotState;
use crate::ports::log::{Extent, Log, LogRecord, Page};
use crate::ports::recovery::{Cursor, Epoch, Recovery};
use crate::ports::statuses::Statuses;
use crate::ports::time::Clock;

/// Records read and written together.
const PAGE: usize = 1000;
/// How long the lock lasts without being renewed.
const LOCK_TIME: Duration = Duration::from_secs(30);
/// The topics of the phases, in order. Forward through the first, backward through what follows behind.
const PHASES: [Topic; 3] = [Topic::State, Topic::Results, Topic::DeadLetter];

/// Rebuilds the hot state.
#[derive(Clone)]
pub struct Rebuild {
    /// What it is rebuilt from.
    pub log: Arc<dyn Log>,
    /// What is rebuilt.
    pub hot: Arc<dyn HotState>,
    /// Which dead letters still are dead.
    pub statuses: Arc<dyn Statuses>,
    /// The lock, the cursor and the mark.
    pub recovery: Arc<dyn Recovery>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Rebuild {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Rebuild").finish_non_exhaustive()
    }
}

/// When to rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// When the mark is missing, or a rebuild is unfinished.
    IfLost,
    /// In any case, from the start.
    Always,
}

/// What a call did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rebuilt {
    /// The hot state is whole.
    Whole,
    /// Somebody else rebuilds, or took over.
    Busy,
    /// The deadline came first; the next call goes on.
    Unfinished(Cursor),
    /// Done, with the number of records replayed and the fingerprint of what waits.
    Done {
        /// Records replayed over all phases.
        replayed: u64,
        /// The fingerprint after the rebuild.
        fingerprint: u64,
    },
}

struct Run<'a> {
    owner: &'a Owner,
    deadline: Option<Timestamp>,
    fence: Fence,
    cursor: Cursor,
    /// The next page of the first phase, and where it begins: read while the one before was written.
    ahead: Option<(Position, Page)>,
}

enum Step {
    Next,
    Late,
    Superseded,
}

impl Rebuild {
    /// Whether work may go on: the mark is there.
    ///
    /// # Errors
    /// A [`Fault`] of the store.
    pub async fn is_whole(&self) -> Result<bool, Fault> {
        Ok(self.recovery.epoch().await?.is_some())
    }

    /// Rebuilds what is lost, until `deadline`.
    ///
    /// # Errors
    /// A [`Fault`] of the log or the store; calling again goes on where this stopped.
    pub async fn run(&self, owner: &Owner, when: When, deadline: Option<Timestamp>) -> Result<Rebuilt, Fault> {
        let whole = self.is_whole().await?;
        let now = self.clock.now();
        let Some((fence, cursor)) = self.recovery.lock(owner, now, now.plus(LOCK_TIME)).await? else {
            return Ok(Rebuilt::Busy);
        };
        let fresh = when == When::Always || (!whole && cursor.phase > 0);
        let cursor = if fresh { Cursor::default() } else { cursor };
        if whole && !fresh && usize::try_from(cursor.phase).is_ok_and(|phase| phase >= PHASES.len()) {
            return Ok(Rebuilt::Whole);
        }
        let mut run = Run { owner, deadline, fence, cursor, ahead: None };
        self.phases(&mut run).await
    }

    async fn phases(&self, run: &mut Run<'_>) -> Result<Rebuilt, Fault> {
        let begun_at = usize::try_from(run.cursor.phase).unwrap_or(usize::MAX);
        for topic in PHASES.into_iter().skip(begun_at) {
            if run.cursor.ends.is_empty() {
                self.begin_phase(run, topic).await?;
            }
            match self.phase(run, topic).await? {
                Step::Next => {}
                Step::Late => return Ok(Rebuilt::Unfinished(run.cursor.clone())),
                Step::Superseded => return Ok(Rebuilt::Busy),
            }
            run.cursor = Cursor { phase: run.cursor.phase + 1, replayed: run.cursor.replayed, ..Cursor::default() };
            if !self.recovery.advance(run.fence, &run.cursor).await? {
                return Ok(Rebuilt::Busy);
            }
            if topic == Topic::State && !self.set_epoch(run).await? {
                return Ok(Rebuilt::Busy);
            }
        }
        let fingerprint = self.recovery.fingerprint().await?;
        tracing::info!(replayed = run.cursor.replayed, fingerprint, "the hot state is rebuilt");
        metrics::counter!(observe::REBUILT).increment(1);
        Ok(Rebuilt::Done { replayed: run.cursor.replayed, fingerprint })
    }

    /// Reads where the topic ends before its first record. Backward phases begin there.
    async fn begin_phase(&self, run: &mut Run<'_>, topic: Topic) -> Result<(), Fault> {
        let extents = self.log.extents(topic).await?;
        let (starts, ends): (Vec<u64>, Vec<u64>) = extents.iter().map(|extent| (extent.start, extent.end)).unzip();
        (run.cursor.offsets, run.cursor.ends) = if topic == Topic::State { (starts, ends) } else { (ends, starts) };
        Ok(())
    }

    async fn phase(&self, run: &mut Run<'_>, topic: Topic) -> Result<Step, Fault> {
        while let Some((partition, offset, end)) = run.unread() {
            let now = self.clock.now();
            if run.deadline.is_some_and(|deadline| now >= deadline) {
                return Ok(Step::Late);
            }
            if self
                .recovery
                .lock(run.owner, now, now.plus(LOCK_TIME))
                .await?
                .is_none_or(|(fence, _)| fence != run.fence)
            {
                return Ok(Step::Superseded);
            }
            let next = if topic == Topic::State {
                self.forward(run, Extent { partition, start: offset, end }).await?
            } else {
                self.backward(run, topic, Extent { partition, start: end, end: offset }).await?
            };
            run.reached(partition, next);
            if !self.recovery.advance(run.fence, &run.cursor).await? {
                return Ok(Step::Superseded);
            }
        }
        Ok(Step::Next)
    }

    async fn forward(&self, run: &mut Run<'_>, rest: Extent) -> Result<u64, Fault> {
        let from = Position { partition: rest.partition, offset: rest.start };
        let page = match run.ahead.take() {
            Some((at, page)) if at == from => page,
            Some(_) | None => self.log.read(Topic::State, from, PAGE).await?,
        };
        // A page that moved nothing means that the rest was compacted away.
        let next = if page.next > rest.start { page.next.min(rest.end) } else { rest.end };
        let before_end = page.records.into_iter().filter(|record| record.position.offset < rest.end).collect();
        let after = Position { offset: next, ..from };
        let reading =
            async { if next == rest.end { None } else { self.log.read(Topic::State, after, PAGE).await.ok() } };
        let (restored, ahead) = futures::join!(self.restore(run, before_end), reading);
        restored?;
        // A page that could not be read ahead is asked for again, and then its fault counts.
        run.ahead = ahead.map(|page| (after, page));
        Ok(next)
    }

    async fn backward(&self, run: &mut Run<'_>, topic: Topic, rest: Extent) -> Result<u64, Fault> {
        let page_len = u64::try_from(PAGE).unwrap_or(u64::MAX);
        let start = rest.end.saturating_sub(page_len).max(rest.start);
        let mut offset = start;
        // A page may end early, where its records are large.
        while offset < rest.end {
            let page = self.log.read(topic, Position { partition: rest.partition, offset }, PAGE).await?;
            let mut records: Vec<_> =
                page.records.into_iter().filter(|record| record.position.offset < rest.end).collect();
            if topic == Topic::DeadLetter {
                records = self.still_dead(records).await?;
            }
            self.restore(run, records).await?;
            // A page that moved nothing means that the rest is gone.
            offset = if page.next > offset { page.next } else { rest.end };
        }
        Ok(start)
    }

    async fn restore(&self, run: &mut Run<'_>, records: Vec<LogRecord>) -> Result<(), Fault> {
        let count = u64::try_from(records.len()).unwrap_or_default();
        metrics::counter!(observe::REPLAYED).increment(count);
        run.cursor.replayed += count;
        let writes: Vec<Write> = records
            .into_iter()
            .filter_map(|record| record.value.ok().map(|value| rebuild(value, record.position)))
            .flatten()
            .collect();
        if writes.is_empty() { Ok(()) } else { self.hot.close(writes).await.map(drop) }
    }

    /// Leaves out dead letters that were replayed: their webhooks have gone further since.
    async fn still_dead(&self, records: Vec<LogRecord>) -> Result<Vec<LogRecord>, Fault> {
        let letters: Vec<_> = records
            .into_iter()
            .filter_map(|record| match &record.value {
                Ok(Record::DeadLetter(letter)) => {
                    Some((letter.dispatch.webhook.id.clone(), letter.dispatch.number, record))
                }
                Ok(_) | Err(_) => None,
            })
            .collect();
        let ids: Vec<_> = letters.iter().map(|(id, ..)| id.clone()).collect();
        let statuses = self.statuses.statuses(&ids).await?;
        let dead = letters.into_iter().zip(statuses).filter(|((_, number, _), status)| {
            status.as_ref().is_none_or(|status| status.phase == Phase::Dead && status.dispatch <= *number)
        });
        Ok(dead.map(|((.., record), _)| record).collect())
    }

    async fn set_epoch(&self, run: &Run<'_>) -> Result<bool, Fault> {
        let number = self.recovery.epoch().await?.map_or(1, |epoch| epoch.number + 1);
        let epoch = Epoch { number, completed_at: self.clock.now(), replayed: run.cursor.replayed };
        self.recovery.complete(run.fence, &epoch).await
    }
}

impl Run<'_> {
    /// The first partition that is not done, with its next offset and the one to stop at.
    fn unread(&self) -> Option<(u32, u64, u64)> {
        let offsets = self.cursor.offsets.iter().zip(&self.cursor.ends).zip(0_u32..);
        offsets.map(|((offset, end), partition)| (partition, *offset, *end)).find(|(_, offset, end)| offset != end)
    }

    fn reached(&mut self, partition: u32, offset: u64) {
        if let Some(slot) = usize::try_from(partition).ok().and_then(|index| self.cursor.offsets.get_mut(index)) {
            *slot = offset;
        }
    }
}
