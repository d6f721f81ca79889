//! The epoch: `{system}:epoch`.
//!
//! Shape: `number completed_at replayed state`, the state `rebuilt` or `statuses_pending`.

use domain::Epoch;

use super::line::Line;
use crate::unreadable::Unreadable;

const REBUILT: &str = "rebuilt";
const STATUSES_PENDING: &str = "statuses_pending";

/// Writes an epoch.
pub fn encode(epoch: &Epoch) -> String {
    let Epoch { number, completed_at, replayed, statuses_pending } = epoch;
    let state = if *statuses_pending { STATUSES_PENDING } else { REBUILT };
    format!("{number} {} {replayed} {state}", completed_at.as_ms())
}

/// Reads an epoch.
///
/// # Errors
/// An [`Unreadable`] that says what is wrong.
pub fn decode(text: &str) -> Result<Epoch, Unreadable> {
    let mut line = Line::of("epoch", text);
    let (number, completed_at, replayed) = (line.number()?, line.time()?, line.number()?);
    let statuses_pending = match line.word()? {
        REBUILT => false,
        STATUSES_PENDING => true,
        other => return Err(Unreadable::unknown("state of the epoch", other)),
    };
    line.end()?;
    Ok(Epoch { number, completed_at, replayed, statuses_pending })
}
