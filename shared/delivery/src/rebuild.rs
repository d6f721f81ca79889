//! Use-case rebuild: the hot state from the log (RB-1). The reconciler calls it, on a timer and on demand.
//!
//! Phase 1 replays `howk.state`: the schedule, what is held, the settings, the cooldowns. Then the epoch is set, and the
//! lanes work again. Phases 2 and 3 put statuses and the dead-letter index back meanwhile, newest first. The end offsets
//! are read before the first record, and reading stops by position. A run resumes from the cursor; a second run at the same
//! time finds the lock taken. Nothing that is live is deleted: all writes merge.
//!
//! A missing epoch shows that the store as a whole was lost. A part of it can be lost alone, such as a shard whose replica
//! lagged when it took over. So what waits is compared with the log from time to time although the epoch is there: a
//! *sweep* is phase 1 alone, while the lanes work, and puts back what is missing (DL-1). It leaves cooldowns out that a
//! probe may have ended: the snapshots from before the probe would begin them again.

use std::sync::Arc;
use std::time::Duration;

use domain::{ClaimHolder, Cooldowns, Fence, Phase, Position, Record, Timestamp, Topic, Undecodable, Write, rebuild};
use futures::future::try_join_all;

use crate::fault::Fault;
use crate::observe;
use crate::ports::hot_state::HotState;
use crate::ports::log::{Extent, Log, LogRecord};
use crate::ports::recovery::{Cursor, Epoch, Recovery, Scope};
use crate::ports::statuses::Statuses;
use crate::ports::time::Clock;

/// Records that are read and written together: a few megabytes, in one round trip each.
const PAGE: usize = 1000;
/// Partitions that are read at once, so that one page is read while another is written (Y7). More would only add memory:
/// the store is the bottleneck.
const PARTITIONS_AT_ONCE: usize = 4;
/// How long the lock lasts without a renewal: every page renews it, and a page takes seconds at most.
const LOCK_TIME: Duration = Duration::from_secs(30);
/// The topics of the phases, in order. The first is read forward; the later ones backward, so that the newest come first.
const PHASES: [Topic; 3] = [Topic::State, Topic::Results, Topic::DeadLetter];

/// Rebuilds the hot state.
#[derive(Clone)]
pub struct Rebuild {
    /// The log to replay.
    pub log: Arc<dyn Log>,
    /// The hot state to rebuild.
    pub hot: Arc<dyn HotState>,
    /// Where it is read whether a dead letter was replayed since.
    pub statuses: Arc<dyn Statuses>,
    /// The lock, the cursor and the epoch.
    pub recovery: Arc<dyn Recovery>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The time from the beginning of a sweep, or of a rebuild, to the next sweep.
    pub sweep_every: Duration,
}

/// When to rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// When the epoch is missing, a rebuild is unfinished, or it is time for a sweep.
    IfLost,
    /// In any case, from the start.
    Always,
}

/// What a call did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rebuilt {
    /// The hot state is rebuilt, and no sweep is due.
    UpToDate,
    /// Another run holds the lock, or took it over.
    Busy,
    /// The deadline came first; the next call goes on from this cursor.
    Unfinished(Cursor),
    /// The store was not lost as a whole, and what waits was put back where it was missing.
    Swept {
        /// Records replayed.
        replayed: u64,
    },
    /// The rebuild is done.
    Done {
        /// Records replayed over all phases.
        replayed: u64,
        /// The fingerprint of what waits, after the rebuild.
        fingerprint: u64,
    },
}

struct Run<'a> {
    holder: &'a ClaimHolder,
    deadline: Option<Timestamp>,
    fence: Fence,
    cursor: Cursor,
}

/// How far a page brought a partition.
#[derive(Clone, Copy)]
struct Read {
    /// The offset to read on from.
    next: u64,
    /// Records replayed.
    replayed: usize,
}

enum Step {
    Next,
    DeadlineReached,
    Superseded,
}

impl Rebuild {
    /// Whether the lanes may work: the epoch is there.
    ///
    /// # Errors
    /// A [`Fault`] of the store.
    pub async fn is_rebuilt(&self) -> Result<bool, Fault> {
        Ok(self.recovery.epoch().await?.is_some())
    }

    /// Rebuilds what is lost, until `deadline`.
    ///
    /// # Errors
    /// A [`Fault`] of the log or the store; calling again goes on where this stopped.
    pub async fn run(&self, holder: &ClaimHolder, when: When, deadline: Option<Timestamp>) -> Result<Rebuilt, Fault> {
        let now = self.clock.now();
        let Some((fence, cursor)) = self.recovery.lock(holder, now, now.plus(LOCK_TIME)).await? else {
            return Ok(Rebuilt::Busy);
        };
        // Read under the lock: the run that held it before may just have set the epoch.
        let epoch = self.recovery.epoch().await?;
        let rebuilt = match self.begin_at(cursor, when, epoch.as_ref()) {
            Some(cursor) => self.phases(&mut Run { holder, deadline, fence, cursor }).await,
            None => Ok(Rebuilt::UpToDate),
        };
        if !matches!(rebuilt, Ok(Rebuilt::Busy)) {
            self.give_back(holder).await;
        }
        rebuilt
    }

    /// Where to begin, or to go on; `None` when there is nothing to do.
    fn begin_at(&self, cursor: Cursor, when: When, epoch: Option<&Epoch>) -> Option<Cursor> {
        let now = self.clock.now();
        let begin = |scope| Some(Cursor { scope, begun_at: now, ..Cursor::default() });
        let is_outdated = epoch.is_none() && (cursor.phase > 0 || cursor.scope == Scope::Waiting);
        if when == When::Always || is_outdated || (cursor.phase == 0 && cursor.ends.is_empty()) {
            begin(Scope::All)
        } else if usize::try_from(cursor.phase).is_ok_and(|phase| phase < PHASES.len()) {
            Some(cursor)
        } else if now >= cursor.begun_at.plus(self.sweep_every) {
            begin(Scope::Waiting)
        } else {
            None
        }
    }

    /// Gives the lock back, so that the next run need not wait until it runs out. If this fails, the lock runs out.
    async fn give_back(&self, holder: &ClaimHolder) {
        let now = self.clock.now();
        if let Err(fault) = self.recovery.lock(holder, now, now).await {
            tracing::debug!(
                fault = fault.chain(),
                "the lock of the rebuild was not given back; it runs out by itself"
            );
        }
    }

    async fn phases(&self, run: &mut Run<'_>) -> Result<Rebuilt, Fault> {
        let begun_at = usize::try_from(run.cursor.phase).unwrap_or(usize::MAX);
        for topic in PHASES.into_iter().skip(begun_at) {
            if run.cursor.ends.is_empty() {
                self.begin_phase(run, topic).await?;
            }
            match self.phase(run, topic).await? {
                Step::Next => {}
                Step::DeadlineReached => return Ok(Rebuilt::Unfinished(run.cursor.clone())),
                Step::Superseded => return Ok(Rebuilt::Busy),
            }
            // Before the cursor moves on: after a crash in between, no run would set it again.
            if topic == Topic::Results && !self.end_statuses_pending(run).await? {
                return Ok(Rebuilt::Busy);
            }
            if !self.end_phase(run).await? {
                return Ok(Rebuilt::Busy);
            }
            if run.cursor.scope == Scope::Waiting {
                tracing::info!(
                    replayed = run.cursor.replayed,
                    "a sweep compared what waits with the log and put back what was missing"
                );
                return Ok(Rebuilt::Swept { replayed: run.cursor.replayed });
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

    /// Moves the cursor to the next phase, or, of a sweep, to the end. `false` when another run took over.
    async fn end_phase(&self, run: &mut Run<'_>) -> Result<bool, Fault> {
        let Cursor { phase, scope, begun_at, replayed, .. } = run.cursor;
        let phase = match scope {
            Scope::All => phase.saturating_add(1),
            Scope::Waiting => u32::try_from(PHASES.len()).unwrap_or(u32::MAX),
        };
        run.cursor = Cursor { phase, replayed, scope, begun_at, ..Cursor::default() };
        self.recovery.advance(run.fence, &run.cursor).await
    }

    async fn phase(&self, run: &mut Run<'_>, topic: Topic) -> Result<Step, Fault> {
        loop {
            let unread = run.unread();
            if unread.is_empty() {
                return Ok(Step::Next);
            }
            let now = self.clock.now();
            if run.deadline.is_some_and(|deadline| now >= deadline) {
                return Ok(Step::DeadlineReached);
            }
            let locked_until = now.plus(LOCK_TIME);
            let lock = self.recovery.lock(run.holder, now, locked_until).await?;
            if lock.is_none_or(|(fence, _)| fence != run.fence) {
                return Ok(Step::Superseded);
            }
            // A cooldown that ends before the page is written may have been probed by then.
            let cooldowns =
                if run.cursor.scope == Scope::All { Cooldowns::Lost(now) } else { Cooldowns::Known(locked_until) };
            let read = try_join_all(unread.iter().map(|rest| self.step(topic, *rest, cooldowns))).await?;
            for (rest, read) in unread.iter().zip(read) {
                run.reached(rest.partition, read);
            }
            if !self.recovery.advance(run.fence, &run.cursor).await? {
                return Ok(Step::Superseded);
            }
        }
    }

    async fn step(&self, topic: Topic, rest: Extent, cooldowns: Cooldowns) -> Result<Read, Fault> {
        if topic == Topic::State {
            self.forward(rest, cooldowns).await
        } else {
            self.backward(topic, rest, cooldowns).await
        }
    }

    async fn forward(&self, rest: Extent, cooldowns: Cooldowns) -> Result<Read, Fault> {
        let from = Position { partition: rest.partition, offset: rest.start };
        let page = self.log.read(Topic::State, from, PAGE).await?;
        // An empty page that moves no offset: compaction removed all remaining records.
        let next = if page.next > rest.start { page.next.min(rest.end) } else { rest.end };
        let before_end = page.records.into_iter().filter(|record| record.position.offset < rest.end).collect();
        Ok(Read { next, replayed: self.restore(before_end, cooldowns).await? })
    }

    async fn backward(&self, topic: Topic, rest: Extent, cooldowns: Cooldowns) -> Result<Read, Fault> {
        let page_len = u64::try_from(PAGE).unwrap_or(u64::MAX);
        let start = rest.end.saturating_sub(page_len).max(rest.start);
        let (mut offset, mut replayed) = (start, 0);
        // A page may end early, where its records are large.
        while offset < rest.end {
            let page = self.log.read(topic, Position { partition: rest.partition, offset }, PAGE).await?;
            let mut records: Vec<_> =
                page.records.into_iter().filter(|record| record.position.offset < rest.end).collect();
            if topic == Topic::DeadLetter {
                records = self.still_dead(records).await?;
            }
            replayed += self.restore(records, cooldowns).await?;
            // An empty page that moves no offset: retention removed all remaining records.
            offset = if page.next > offset { page.next } else { rest.end };
        }
        Ok(Read { next: start, replayed })
    }

    /// Writes what the records restore, and returns their number.
    async fn restore(&self, records: Vec<LogRecord>, cooldowns: Cooldowns) -> Result<usize, Fault> {
        let count = records.len();
        metrics::counter!(observe::REPLAYED).increment(u64::try_from(count).unwrap_or(u64::MAX));
        let writes: Vec<Write> = records
            .into_iter()
            .filter_map(|record| Some(rebuild(readable(record.value)?, record.position, cooldowns)))
            .flatten()
            .collect();
        if !writes.is_empty() {
            self.hot.apply(writes).await?;
        }
        Ok(count)
    }

    /// Leaves out dead letters that were replayed: the statuses of their webhooks are beyond them.
    async fn still_dead(&self, records: Vec<LogRecord>) -> Result<Vec<LogRecord>, Fault> {
        let dead_letters: Vec<_> = records
            .into_iter()
            .filter_map(|record| match &record.value {
                Ok(Record::DeadLetter(dead_letter)) => {
                    Some((dead_letter.dispatch.webhook.id.clone(), dead_letter.dispatch.number, record))
                }
                Ok(_) | Err(_) => None,
            })
            .collect();
        let ids: Vec<_> = dead_letters.iter().map(|(id, ..)| id.clone()).collect();
        let statuses = self.statuses.statuses(&ids).await?;
        let dead = dead_letters.into_iter().zip(statuses).filter(|((_, number, _), status)| {
            status.as_ref().is_none_or(|status| status.phase == Phase::Dead && status.dispatch <= *number)
        });
        Ok(dead.map(|((.., record), _)| record).collect())
    }

    async fn set_epoch(&self, run: &Run<'_>) -> Result<bool, Fault> {
        let known = self.recovery.epoch().await?;
        let number = known.as_ref().map_or(1, |epoch| epoch.number + 1);
        // A store that still had its epoch was not lost, and has its statuses.
        let statuses_pending = known.is_none_or(|epoch| epoch.statuses_pending);
        let epoch = Epoch { number, completed_at: self.clock.now(), replayed: run.cursor.replayed, statuses_pending };
        self.recovery.complete(run.fence, &epoch).await
    }

    /// Stores in the epoch that every status is back. `false` when another run took over.
    async fn end_statuses_pending(&self, run: &Run<'_>) -> Result<bool, Fault> {
        match self.recovery.epoch().await? {
            Some(epoch) if epoch.statuses_pending => {
                self.recovery.complete(run.fence, &Epoch { statuses_pending: false, ..epoch }).await
            }
            Some(_) | None => Ok(true),
        }
    }
}

/// The record, if it can be read. One that cannot restores nothing and is logged: it may be of a later version of howk.
fn readable(value: Result<Record, Undecodable>) -> Option<Record> {
    value
        .inspect_err(|record| {
            let Undecodable { topic, position: Position { partition, offset }, error, .. } = record;
            tracing::warn!(topic, partition, offset, error, "the rebuild skips a record that it cannot read");
        })
        .ok()
}

impl Run<'_> {
    /// The unread extents of the first partitions that are not done. A backward phase has its offsets above its ends.
    fn unread(&self) -> Vec<Extent> {
        let offsets = self.cursor.offsets.iter().zip(&self.cursor.ends).zip(0_u32..);
        offsets
            .filter(|((offset, end), _)| offset != end)
            .map(|((offset, end), partition)| Extent { partition, start: *offset.min(end), end: *offset.max(end) })
            .take(PARTITIONS_AT_ONCE)
            .collect()
    }

    fn reached(&mut self, partition: u32, read: Read) {
        self.cursor.replayed = self.cursor.replayed.saturating_add(u64::try_from(read.replayed).unwrap_or(u64::MAX));
        if let Some(slot) = usize::try_from(partition).ok().and_then(|index| self.cursor.offsets.get_mut(index)) {
            *slot = read.next;
        }
    }
}
