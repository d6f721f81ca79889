//! A webhook: an accepted request, and the dispatches that hand it to a lane.

use std::sync::Arc;

use crate::endpoint::Endpoint;
use crate::header::SealedHeader;
use crate::id::{ConfigId, WebhookId};
use crate::secret::Sealed;
use crate::time::Timestamp;
use crate::trace::TraceParent;

/// The kind of the caller's bytes. It decides how a record carries them, and the request's `Content-Type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadKind {
    /// A JSON text, carried unparsed.
    Json,
    /// Anything else, carried as base64.
    Binary,
}

/// The caller's bytes, never rewritten (DL-4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// The bytes as accepted.
    pub bytes: Arc<[u8]>,
    /// Their kind.
    pub kind: PayloadKind,
}

/// An accepted request. It never changes; what differs from one dispatch to the next is in [`Dispatch`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Its identity.
    pub id: WebhookId,
    /// Its tenant's configuration.
    pub config_id: ConfigId,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The payload.
    pub payload: Payload,
    /// The caller's headers, in order.
    pub headers: Vec<SealedHeader>,
    /// The caller's key, kept for readers; the id is derived from it.
    pub idempotency_key: Option<String>,
    /// The secrets that requests are signed with: several while a key rotates, none for no signature.
    pub signing_secrets: Vec<Sealed>,
    /// The number of requests at most. Bounds: 1 to [`crate::MAX_ATTEMPTS_MAX`].
    pub max_attempts: u32,
    /// Statuses that are retried although the rules would not.
    pub retry_on_status: Vec<u16>,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// The trace of the request that brought it. Its own requests belong to the same trace.
    pub trace: Option<TraceParent>,
}

/// Why the last request failed. Every later dispatch carries it, so that a deferral does not hide it from readers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastFailure {
    /// When the request began.
    pub at: Timestamp,
    /// The status code of the answer.
    pub status: Option<u16>,
    /// Why it failed.
    pub error: String,
}

/// One hand-over of a webhook to a lane, by a record of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    /// The webhook.
    pub webhook: Arc<Webhook>,
    /// Counts up at every enqueue, release, divert and deferral. 1-based.
    pub number: u64,
    /// The attempt that would be made next. 1-based.
    pub attempt: u32,
    /// When the hand-over was meant to happen.
    pub scheduled_at: Timestamp,
    /// Whether it ever waited, so that `howk.state` holds a snapshot of it.
    pub waited: bool,
    /// Whether a dispatch of this attempt was taken over from a holder that may have made the request. The holder that took
    /// it over made no request and passed the attempt on to this dispatch.
    pub taken_over: bool,
    /// The dispatch whose dead letter this life was replayed from; 0 in the first life.
    pub replayed_from: u64,
    /// Why the last request of this life failed.
    pub last_failure: Option<Arc<LastFailure>>,
}

impl Dispatch {
    /// The first dispatch, made at acceptance.
    pub fn first(webhook: Arc<Webhook>) -> Self {
        let scheduled_at = webhook.created_at;
        Self {
            webhook,
            number: 1,
            attempt: 1,
            scheduled_at,
            waited: false,
            taken_over: false,
            replayed_from: 0,
            last_failure: None,
        }
    }

    /// The next dispatch of the same attempt, whose request was not made.
    #[must_use]
    pub fn again(&self, at: Timestamp) -> Self {
        Self { number: self.number.saturating_add(1), scheduled_at: at, ..self.clone() }
    }

    /// The dispatch of the next attempt, after this one failed.
    #[must_use]
    pub fn next_attempt(&self, at: Timestamp, failure: LastFailure) -> Self {
        Self { attempt: self.attempt.saturating_add(1), ..self.same_attempt(at, failure) }
    }

    /// The next dispatch of an attempt that could not be made.
    #[must_use]
    pub fn same_attempt(&self, at: Timestamp, failure: LastFailure) -> Self {
        Self { taken_over: false, last_failure: Some(Arc::new(failure)), ..self.again(at) }
    }

    /// The first dispatch of a new life, from the dead letter of this one.
    #[must_use]
    pub fn replay(&self, at: Timestamp) -> Self {
        Self { attempt: 1, taken_over: false, replayed_from: self.number, last_failure: None, ..self.again(at) }
    }

    /// Whether this is the last attempt that its webhook may make.
    pub fn is_last_attempt(&self) -> bool {
        self.attempt >= self.webhook.max_attempts
    }
}
