//! How far a rebuild has come: field of `{system}:rebuild`.
//!
//! Shape: `phase replayed offsets ends scope begun_at`, both lists separated by commas and `-` when empty, the scope `all`
//! or `waiting`.

use domain::{RebuildCursor, RebuildScope};

use super::line::{self, Line};
use crate::unreadable::Unreadable;

const ALL: &str = "all";
const WAITING: &str = "waiting";

/// Writes a cursor.
pub fn encode(cursor: &RebuildCursor) -> String {
    let RebuildCursor { phase, offsets, ends, replayed, scope, begun_at } = cursor;
    let scope = match scope {
        RebuildScope::All => ALL,
        RebuildScope::Waiting => WAITING,
    };
    format!("{phase} {replayed} {} {} {scope} {}", list(offsets), list(ends), begun_at.as_ms())
}

/// Reads a cursor.
///
/// # Errors
/// An [`Unreadable`] that says what is wrong.
pub fn decode(text: &str) -> Result<RebuildCursor, Unreadable> {
    let mut line = Line::of("rebuild cursor", text);
    let (phase, replayed) = (line.number()?, line.number()?);
    let (offsets, ends) = (numbers(&mut line)?, numbers(&mut line)?);
    let scope = match line.word()? {
        ALL => RebuildScope::All,
        WAITING => RebuildScope::Waiting,
        other => return Err(Unreadable::unknown("scope of the rebuild", other)),
    };
    let begun_at = line.time()?;
    line.end()?;
    Ok(RebuildCursor { phase, offsets, ends, replayed, scope, begun_at })
}

fn list(numbers: &[u64]) -> String {
    let joined = numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    line::word((!numbers.is_empty()).then_some(joined))
}

fn numbers(line: &mut Line<'_>) -> Result<Vec<u64>, Unreadable> {
    let Some(text) = line.maybe::<String>()? else { return Ok(Vec::new()) };
    let read: Result<_, _> = text.split(',').map(str::parse).collect();
    read.map_err(|_| line.wrong("a list holds a word that is no number"))
}
