//! A circuit: field of `{ep:<hash>}`.
//!
//! Shape: `closed since`, `open since` or `half_open successes probe_until`.

use domain::Circuit;

use super::line::{self, Line};
use crate::unreadable::Unreadable;

/// Writes a circuit.
pub fn encode(circuit: Circuit) -> String {
    match circuit {
        Circuit::Closed { since } => format!("closed {}", since.as_ms()),
        Circuit::Open { since } => format!("open {}", since.as_ms()),
        Circuit::HalfOpen { successes, probe_until } => format!("half_open {successes} {}", line::time(probe_until)),
    }
}

/// Reads a circuit.
///
/// # Errors
/// An [`Unreadable`] that says what is wrong.
pub fn decode(text: &str) -> Result<Circuit, Unreadable> {
    let mut line = Line::of("circuit", text);
    let circuit = match line.word()? {
        "closed" => Circuit::Closed { since: line.time()? },
        "open" => Circuit::Open { since: line.time()? },
        "half_open" => Circuit::HalfOpen { successes: line.number()?, probe_until: line.maybe_time()? },
        other => return Err(Unreadable::unknown("circuit", other)),
    };
    line.end()?;
    Ok(circuit)
}
