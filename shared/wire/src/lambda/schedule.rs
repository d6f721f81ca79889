//! The payload that starts the scheduler or the reconciler, from a schedule or from an operator.
//!
//! EventBridge Scheduler's own payload, an EventBridge rule's, the `Input` of our schedules and `{"force":true}` are all
//! objects of which only `force` is read.

use serde::Deserialize;

use super::read;
use crate::unreadable::Unreadable;

/// What an invocation asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub struct Scheduled {
    /// Whether to rebuild although nothing was lost.
    #[serde(default)]
    pub force: bool,
}

impl Scheduled {
    /// Reads a payload; an empty one and `null` count as `{}`.
    ///
    /// # Errors
    /// An [`Unreadable`] when it is no object, or `force` is no boolean.
    pub fn decode(text: &str) -> Result<Self, Unreadable> {
        match text.trim() {
            "" | "null" => Ok(Self::default()),
            text if !text.starts_with('{') => Err(Unreadable::whole("the payload is not an object")),
            text => read(text),
        }
    }
}
