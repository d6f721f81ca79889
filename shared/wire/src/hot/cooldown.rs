//! A cooldown: field of `{ep:<hash>}`.
//!
//! Shape: `ends_at window_end confirmed probe_until`, in the order in which two cooldowns are compared.

use domain::Cooldown;

use super::line::{self, Line};
use crate::unreadable::Unreadable;

/// Writes a cooldown.
pub fn encode(cooldown: Cooldown) -> String {
    let (ends_at_ms, window_end_ms) = (cooldown.ends_at.as_ms(), cooldown.window_end.as_ms());
    format!("{ends_at_ms} {window_end_ms} {} {}", u8::from(cooldown.confirmed), line::time(cooldown.probe_until))
}

/// Reads a cooldown.
///
/// # Errors
/// An [`Unreadable`] that says what is wrong.
pub fn decode(text: &str) -> Result<Cooldown, Unreadable> {
    let mut line = Line::of("cooldown", text);
    let (ends_at, window_end) = (line.time()?, line.time()?);
    let cooldown = Cooldown { ends_at, window_end, confirmed: line.flag()?, probe_until: line.maybe_time()? };
    line.end()?;
    Ok(cooldown)
}
