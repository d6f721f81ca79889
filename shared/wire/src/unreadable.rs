//! The error of bytes that cannot be read: one sentence for people, bounded and without the values that were read (SE-1).

use thiserror::Error;

/// The longest value that an error quotes, in characters.
const QUOTED_CHARS_MAX: usize = 40;

/// An error of bytes that do not have the expected shape.
///
/// Shape: a sentence that names the field, or the line and column where the JSON breaks. Bounds: a few hundred bytes,
/// however long the input. String values are never quoted, except codes of closed lists.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unreadable(String);

impl Unreadable {
    /// An error of a named part.
    pub(crate) fn of(part: &str, problem: impl std::fmt::Display) -> Self {
        Self(format!("{part}: {problem}"))
    }

    /// An error of the value as a whole.
    pub(crate) fn whole(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }

    /// The error of a code that is not in its closed list.
    pub(crate) fn unknown(part: &str, code: &str) -> Self {
        Self::of(part, format_args!("unknown value \"{}\"", beginning(code)))
    }
}

/// The beginning of a text, on one line.
pub(crate) fn beginning(text: &str) -> String {
    let start: String = text.chars().take(QUOTED_CHARS_MAX).collect();
    let more = if start.len() < text.len() { "..." } else { "" };
    format!("{}{more}", start.escape_debug())
}
