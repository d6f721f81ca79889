//! The only interpreter of effects.
//!
//! Neighbouring publishes share one trip to the log, neighbouring writes one to the store. Repeating a list after a
//! crash is safe: every effect is idempotent, and what led to it is not acknowledged before all are done.

use domain::{Effect, EndpointState, Position, Record, Write};

use crate::fault::Fault;
use crate::ports::hot_state::HotState;
use crate::ports::log::Log;

/// Performs effects in order and returns the endpoint's state after its report, if there was one.
///
/// # Errors
/// The first [`Fault`]; nothing after it was begun, and the whole list may be performed again.
pub async fn perform(
    effects: Vec<Effect>,
    log: &dyn Log,
    hot: &dyn HotState,
) -> Result<Option<EndpointState>, Fault> {
    let mut state = None;
    let mut letter_at = None;
    let mut effects = effects.into_iter().peekable();
    while let Some(effect) = effects.next() {
        match effect {
            Effect::Publish(record) => {
                let mut records = vec![record];
                while let Some(Effect::Publish(record)) = effects.next_if(|next| matches!(next, Effect::Publish(_))) {
                    records.push(record);
                }
                letter_at = publish(log, records).await?.or(letter_at);
            }
            Effect::Write(write) => {
                let mut writes = vec![located(write, letter_at)];
                while let Some(Effect::Write(write)) = effects.next_if(|next| matches!(next, Effect::Write(_))) {
                    writes.push(located(write, letter_at));
                }
                state = hot.close(writes).await?.or(state);
            }
        }
    }
    Ok(state)
}

/// Publishes records and returns where the dead letter among them stands.
async fn publish(log: &dyn Log, records: Vec<Record>) -> Result<Option<Position>, Fault> {
    let letter = records.iter().position(|record| matches!(record, Record::DeadLetter(_)));
    let positions = log.publish(records).await?;
    Ok(letter.and_then(|index| positions.get(index).copied()))
}

/// Tells an index entry where its letter stands, which only the acknowledgement knows.
fn located(write: Write, letter_at: Option<Position>) -> Write {
    match (write, letter_at) {
        (Write::Index(entry), Some(position)) => Write::Index(domain::DeadLetterEntry { position, ..entry }),
        (write, _) => write,
    }
}
