//! What waits, in the due set and the held list: the value of `howk.state`. The store compresses it.

use domain::Waiting;

use crate::record;
use crate::unreadable::Unreadable;

/// Writes a waiting webhook as JSON.
pub fn encode(waiting: &Waiting) -> Vec<u8> {
    record::waiting::encode(waiting)
}

/// Reads a waiting webhook.
///
/// # Errors
/// An [`Unreadable`] that says what is wrong.
pub fn decode(bytes: &[u8]) -> Result<Waiting, Unreadable> {
    record::waiting::decode(bytes)
}
