//! The tally of one stretch of time: one field of `{ep:<hash>}` per bucket.
//!
//! Shape: the field `bucket:<start>` holds `failures successes slow`.

use domain::{Bucket, Tally, Timestamp};

use super::line::Line;
use crate::unreadable::Unreadable;

/// How the names of buckets' fields begin.
pub const FIELD_PREFIX: &str = "bucket:";

/// The name of the field of the bucket that begins at `start`.
pub fn field(start: Timestamp) -> String {
    format!("{FIELD_PREFIX}{}", start.as_ms())
}

/// Writes a tally.
pub fn encode(tally: Tally) -> String {
    let Tally { failures, successes, slow } = tally;
    format!("{failures} {successes} {slow}")
}

/// Reads a bucket from its field and value; `None` when the field is another one.
///
/// # Errors
/// An [`Unreadable`] that says what is wrong.
pub fn decode(field: &str, text: &str) -> Result<Option<Bucket>, Unreadable> {
    let Some(start) = field.strip_prefix(FIELD_PREFIX) else {
        return Ok(None);
    };
    let mut name = Line::of("name of a bucket", start);
    let start = name.time()?;
    name.end()?;
    let mut line = Line::of("bucket", text);
    let tally = Tally { failures: line.number()?, successes: line.number()?, slow: line.number()? };
    line.end()?;
    Ok(Some(Bucket { start, tally }))
}
