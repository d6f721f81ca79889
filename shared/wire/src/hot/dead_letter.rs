//! The index entry of a dead letter: member of `{dead:<config_id>}:at`.
//!
//! Shape: `id config_id endpoint_hash reason_type at partition offset`.

use domain::{ConfigId, DeadLetterEntry, EndpointHash, Position, WebhookId};

use super::line::Line;
use crate::unreadable::Unreadable;

/// Writes an entry.
pub fn encode(entry: &DeadLetterEntry) -> String {
    let DeadLetterEntry { id, config_id, endpoint, position, .. } = entry;
    let Position { partition, offset } = position;
    let (reason_type, at_ms) = (entry.reason_type.code(), entry.at.as_ms());
    format!("{id} {config_id} {endpoint} {reason_type} {at_ms} {partition} {offset}")
}

/// Reads an entry.
///
/// # Errors
/// An [`Unreadable`] that says what is wrong.
pub fn decode(text: &str) -> Result<DeadLetterEntry, Unreadable> {
    let mut line = Line::of("dead letter", text);
    let entry = DeadLetterEntry {
        id: WebhookId::parse(line.word()?).map_err(|error| line.wrong(error))?,
        config_id: ConfigId::parse(line.word()?).map_err(|error| line.wrong(error))?,
        endpoint: EndpointHash::parse(line.word()?).map_err(|error| line.wrong(error))?,
        reason_type: line.code()?,
        at: line.time()?,
        position: Position { partition: line.number()?, offset: line.number()? },
    };
    line.end()?;
    Ok(entry)
}
