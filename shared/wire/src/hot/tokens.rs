//! A token bucket: field of `{ep:<hash>}`.
//!
//! Shape: `full_at_us last_turn_us`.

use domain::Tokens;

use super::line::Line;
use crate::unreadable::Unreadable;

/// Writes a token bucket.
pub fn encode(tokens: Tokens) -> String {
    let Tokens { full_at_us, last_turn_us } = tokens;
    format!("{full_at_us} {last_turn_us}")
}

/// Reads a token bucket.
///
/// # Errors
/// An [`Unreadable`] that says what is wrong.
pub fn decode(text: &str) -> Result<Tokens, Unreadable> {
    let mut line = Line::of("tokens", text);
    let tokens = Tokens { full_at_us: line.number()?, last_turn_us: line.number()? };
    line.end()?;
    Ok(tokens)
}
