//! Dead letters: webhooks that failed for good, with a reason that their owner can read.

use std::fmt;

use crate::id::{ConfigId, EndpointHash, WebhookId};
use crate::time::Timestamp;
use crate::webhook::Dispatch;

/// Why a webhook was dead-lettered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReasonType {
    /// Every attempt failed.
    Exhausted,
    /// The endpoint refused the request for good (3xx, 4xx), or it cannot be made at all.
    Unrecoverable,
    /// The endpoint answered 410.
    Gone,
    /// The address policy refuses to send there.
    AddressRefused,
}

impl ReasonType {
    /// Every reason, for parsers and documents.
    pub const ALL: [Self; 4] = [Self::Exhausted, Self::Unrecoverable, Self::Gone, Self::AddressRefused];

    /// The stable code of the reason.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Exhausted => "exhausted",
            Self::Unrecoverable => "unrecoverable",
            Self::Gone => "gone",
            Self::AddressRefused => "address_refused",
        }
    }

    /// Reads a reason back from its code.
    pub fn parse(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.code() == code)
    }
}

impl fmt::Display for ReasonType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code())
    }
}

/// A webhook that failed for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// The dispatch that ended it.
    pub dispatch: Dispatch,
    /// The kind of reason.
    pub reason_type: ReasonType,
    /// The reason in words.
    pub reason: String,
    /// The last failure.
    pub last_error: Option<String>,
    /// The status code of the last answer.
    pub status: Option<u16>,
    /// The beginning of the last answer's body.
    pub response_body: Option<String>,
    /// When it was dead-lettered.
    pub at: Timestamp,
}

/// A record that could not be read. Its bytes are kept unchanged, and its partition goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecodable {
    /// The topic it stood on.
    pub topic: String,
    /// Where it stood.
    pub position: Position,
    /// Its key, as it was.
    pub key: Option<Vec<u8>>,
    /// Its value, as it was.
    pub value: Option<Vec<u8>>,
    /// What was wrong with it.
    pub error: String,
    /// When it was found.
    pub at: Timestamp,
}

impl Undecodable {
    /// The `reason_type` of its record. It is no [`ReasonType`]: what cannot be read names no tenant and is not indexed.
    pub const REASON_TYPE: &str = "undecodable";
}

/// A record's place in its topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    /// The partition.
    pub partition: u32,
    /// The offset within it.
    pub offset: u64,
}

/// The index entry of a dead letter; the record itself stays in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetterEntry {
    /// The webhook.
    pub id: WebhookId,
    /// The tenant.
    pub config_id: ConfigId,
    /// The endpoint.
    pub endpoint: EndpointHash,
    /// Why it was dead-lettered.
    pub reason_type: ReasonType,
    /// When it was dead-lettered.
    pub at: Timestamp,
    /// Where its record stands in `howk.deadletter`.
    pub position: Position,
}
