//! One request that was made: one of a bounded number of fields of `{wh:<id>}`.
//!
//! Shape: the field `a:<dispatch><number>` holds `number dispatch cause at took_ns status error`. The field's numbers are
//! hexadecimal and of one width, so that the names sort in the order of the attempts.

use std::time::Duration;

use domain::Attempt;

use super::line::{self, Line};
use crate::code::Code;
use crate::unreadable::Unreadable;

/// How the names of attempts' fields begin.
pub const FIELD_PREFIX: &str = "a:";

/// The name of the field of an attempt.
pub fn field(attempt: &Attempt) -> String {
    format!("{FIELD_PREFIX}{:016x}{:08x}", attempt.dispatch, attempt.number)
}

/// Writes an attempt.
pub fn encode(attempt: &Attempt) -> String {
    let Attempt { number, dispatch, .. } = attempt;
    format!(
        "{number} {dispatch} {} {} {} {} {}",
        attempt.cause.code(),
        attempt.at.as_ms(),
        u64::try_from(attempt.took.as_nanos()).unwrap_or(u64::MAX),
        line::word(attempt.status),
        line::text(attempt.error.as_deref()),
    )
}

/// Reads an attempt.
///
/// # Errors
/// An [`Unreadable`] that says what is wrong.
pub fn decode(text: &str) -> Result<Attempt, Unreadable> {
    let mut line = Line::of("attempt", text);
    Ok(Attempt {
        number: line.number()?,
        dispatch: line.number()?,
        cause: line.code()?,
        at: line.time()?,
        took: Duration::from_nanos(line.number()?),
        status: line.maybe()?,
        error: line.text()?,
    })
}
