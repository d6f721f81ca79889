//! The only interpreter of effects: every decision of `domain` is performed here, and nowhere else.
//!
//! Neighbouring effects share a round trip where [`Effect::trip`] says so; all others are performed one after the other.
//! Performing a list again after a crash is safe: every effect is idempotent, and whatever led to the list is not
//! acknowledged before its last effect is done.

use domain::{DeadLetterEntry, Effect, EndpointState, Position, Record, Write};
use futures::future::try_join_all;

use crate::fault::{Fault, FaultKind};
use crate::ports::dead_letters::DeadLetters;
use crate::ports::hot_state::HotState;
use crate::ports::log::Log;

/// The ports that effects are performed on.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    /// Where records are published.
    pub(crate) log: &'a dyn Log,
    /// Where the hot state is written and changed.
    pub(crate) hot: &'a dyn HotState,
    /// Where dead letters are forgotten. Only a replay forgets any, so the lanes bring none.
    pub(crate) index: Option<&'a dyn DeadLetters>,
}

/// How far a list of effects was performed, and what the performed ones gave.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The number of effects, from the first on, that are done.
    done: usize,
    /// Where the list's dead letter stands in the log.
    dead_letter_at: Option<Position>,
    /// The endpoint's state after its report.
    state: Option<EndpointState>,
}

impl Progress {
    /// Whether nothing was done.
    pub(crate) const fn is_none(&self) -> bool {
        self.done == 0
    }
}

/// Performs effects in order, from where `progress` stands, and returns the endpoint's state after its report, if there
/// was one.
///
/// # Errors
/// The first [`Fault`]; no effect after that trip was begun. The same list may be performed again with the same progress,
/// which leaves out what is done: while the store is away for an hour, the log must not fill up with one result again and
/// again.
pub(crate) async fn perform(
    effects: Vec<Effect>,
    progress: &mut Progress,
    ports: Ports<'_>,
) -> Result<Option<EndpointState>, Fault> {
    let mut effects = effects.into_iter().skip(progress.done).peekable();
    while let Some(effect) = effects.next() {
        let trip = effect.trip();
        let shares = |next: &Effect| trip.takes(next);
        let count = match effect {
            Effect::Publish(record) => {
                let mut records = vec![record];
                while let Some(Effect::Publish(record)) = effects.next_if(shares) {
                    records.push(record);
                }
                ports.publish(records, progress).await?
            }
            Effect::Write(write) => {
                let mut writes = vec![located(write, progress.dead_letter_at)];
                while let Some(Effect::Write(write)) = effects.next_if(shares) {
                    writes.push(located(write, progress.dead_letter_at));
                }
                ports.apply(writes, progress).await?
            }
            Effect::Change(transition) => {
                // One that loses to another change is dropped: its decision is made again on the state that won.
                drop(ports.hot.change(&transition).await?);
                1
            }
            Effect::Forget(entry) => {
                let mut entries = vec![entry];
                while let Some(Effect::Forget(entry)) = effects.next_if(shares) {
                    entries.push(entry);
                }
                ports.forget(entries).await?
            }
        };
        progress.done += count;
    }
    Ok(progress.state.take())
}

impl Ports<'_> {
    /// Publishes records, and keeps where the dead letter among them stands.
    async fn publish(&self, records: Vec<Record>, progress: &mut Progress) -> Result<usize, Fault> {
        let count = records.len();
        let dead_letter = records.iter().position(|record| matches!(record, Record::DeadLetter(_)));
        let positions = self.log.publish(records).await?;
        let dead_letter_at = dead_letter.and_then(|index| positions.get(index).copied());
        progress.dead_letter_at = dead_letter_at.or(progress.dead_letter_at);
        Ok(count)
    }

    async fn apply(&self, writes: Vec<Write>, progress: &mut Progress) -> Result<usize, Fault> {
        let count = writes.len();
        progress.state = self.hot.apply(writes).await?.or(progress.state.take());
        Ok(count)
    }

    async fn forget(&self, entries: Vec<DeadLetterEntry>) -> Result<usize, Fault> {
        let Some(index) = self.index else {
            return Err(Fault::new(FaultKind::Permanent, "there is no index to forget a dead letter in"));
        };
        try_join_all(entries.iter().map(|entry| index.forget(entry))).await?;
        Ok(entries.len())
    }
}

/// Adds the position of the dead letter to its index entry: only the log's acknowledgement tells it.
fn located(write: Write, dead_letter_at: Option<Position>) -> Write {
    match (write, dead_letter_at) {
        (Write::Index(entry), Some(position)) => Write::Index(DeadLetterEntry { position, ..entry }),
        (write, _) => write,
    }
}
