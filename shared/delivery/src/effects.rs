//! The only interpreter of effects.
//!
//! Neighbouring publishes share one trip to the log, neighbouring writes one to the store, but for those that stand alone.
//! Repeating a list after a crash is safe: every effect is idempotent, and what led to it is not acknowledged before all
//! are done.

use domain::{Effect, EndpointState, Position, Record, Write};

use crate::fault::Fault;
use crate::ports::hot_state::HotState;
use crate::ports::log::Log;

/// How far a list of effects was performed, and what came of that.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Effects from the first on that are done.
    done: usize,
    dead_letter_at: Option<Position>,
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
/// The first [`Fault`]; nothing after it was begun. The same list may be performed again with the same progress, which
/// leaves out what is done: a store that is away for an hour must not fill the log with one result again and again.
pub(crate) async fn perform(
    effects: Vec<Effect>,
    progress: &mut Progress,
    log: &dyn Log,
    hot: &dyn HotState,
) -> Result<Option<EndpointState>, Fault> {
    let mut effects = effects.into_iter().skip(progress.done).peekable();
    while let Some(effect) = effects.next() {
        let alone = effect.stands_alone();
        match effect {
            Effect::Publish(record) => {
                let mut records = vec![record];
                let shares = |next: &Effect| !alone && !next.stands_alone() && matches!(next, Effect::Publish(_));
                while let Some(Effect::Publish(record)) = effects.next_if(shares) {
                    records.push(record);
                }
                let count = records.len();
                progress.dead_letter_at = publish(log, records).await?.or(progress.dead_letter_at);
                progress.done += count;
            }
            Effect::Write(write) => {
                let mut writes = vec![located(write, progress.dead_letter_at)];
                let shares = |next: &Effect| !alone && !next.stands_alone() && matches!(next, Effect::Write(_));
                while let Some(Effect::Write(write)) = effects.next_if(shares) {
                    writes.push(located(write, progress.dead_letter_at));
                }
                let count = writes.len();
                progress.state = hot.apply(writes).await?.or(progress.state.take());
                progress.done += count;
            }
        }
    }
    Ok(progress.state.take())
}

/// Publishes records and returns where the dead letter among them stands.
async fn publish(log: &dyn Log, records: Vec<Record>) -> Result<Option<Position>, Fault> {
    let dead_letter = records.iter().position(|record| matches!(record, Record::DeadLetter(_)));
    let positions = log.publish(records).await?;
    Ok(dead_letter.and_then(|index| positions.get(index).copied()))
}

/// Tells an index entry where its dead letter stands, which only the acknowledgement knows.
fn located(write: Write, dead_letter_at: Option<Position>) -> Write {
    match (write, dead_letter_at) {
        (Write::Index(entry), Some(position)) => Write::Index(domain::DeadLetterEntry { position, ..entry }),
        (write, _) => write,
    }
}
