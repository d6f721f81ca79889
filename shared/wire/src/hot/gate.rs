//! A gate: field of `{ep:<hash>}`.
//!
//! Shape: `opens_at window_end confirmed probe_until`, in the order in which two gates are compared.

use domain::Gate;

use super::line::{self, Line};
use crate::unreadable::Unreadable;

/// Writes a gate.
pub fn encode(gate: Gate) -> String {
    let (opens_at_ms, window_end_ms) = (gate.opens_at.as_ms(), gate.window_end.as_ms());
    format!("{opens_at_ms} {window_end_ms} {} {}", u8::from(gate.confirmed), line::time(gate.probe_until))
}

/// Reads a gate.
///
/// # Errors
/// An [`Unreadable`] that says what is wrong.
pub fn decode(text: &str) -> Result<Gate, Unreadable> {
    let mut line = Line::of("gate", text);
    let (opens_at, window_end) = (line.time()?, line.time()?);
    let gate = Gate { opens_at, window_end, confirmed: line.flag()?, probe_until: line.maybe_time()? };
    line.end()?;
    Ok(gate)
}
