//! A tenant's decision: `{ep:<hash>}:setting:<config_id>`, whose key names the endpoint and the tenant.
//!
//! Shape: `state decided_at`.

use domain::{EndpointSetting, Timestamp};

use super::line::Line;
use crate::code::Code;
use crate::unreadable::Unreadable;

/// Writes a decision and its time.
pub fn encode(state: EndpointSetting, decided_at: Timestamp) -> String {
    format!("{} {}", state.code(), decided_at.as_ms())
}

/// Reads a decision and its time.
///
/// # Errors
/// An [`Unreadable`] that says what is wrong.
pub fn decode(text: &str) -> Result<(EndpointSetting, Timestamp), Unreadable> {
    let mut line = Line::of("setting", text);
    let decision = (line.code()?, line.time()?);
    line.end()?;
    Ok(decision)
}
