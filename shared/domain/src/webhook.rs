//! A webhook: an accepted request, and the dispatches that hand it to a lane.

use std::sync::Arc;

use crate::endpoint::Endpoint;
use crate::header::SealedHeader;
use crate::id::{ConfigId, WebhookId};
use crate::secret::Sealed;
use crate::time::Timestamp;
use crate::trace::TraceParent;

/// What the caller's bytes are, which decides how a record carries them and what `Content-Type` says.
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
    /// What they are.
    pub kind: PayloadKind,
}

/// An accepted request. Immutable: what changes from hand-over to hand-over is in [`Dispatch`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Its identity.
    pub id: WebhookId,
    /// Its tenant's configuration.
    pub config_id: ConfigId,
    /// Where it goes.
    pub endpoint: Endpoint,
    /// What it carries.
    pub payload: Payload,
    /// The caller's headers, in order.
    pub headers: Vec<SealedHeader>,
    /// The caller's key, kept for readers; the id is derived from it.
    pub idempotency_key: Option<String>,
    /// What requests are signed with; more than one while a key rotates. Empty: not signed.
    pub signing_secrets: Vec<Sealed>,
    /// The number of requests at most. Bounds: 1 to [`crate::MAX_ATTEMPTS_MAX`].
    pub max_attempts: u32,
    /// Statuses that are retried although the rules would not.
    pub retry_on_status: Vec<u16>,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// The trace of the request that brought it, which its own requests belong to.
    pub trace: Option<TraceParent>,
}

/// Why the last request failed. It goes along with a webhook, so that a deferral does not hide it from readers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastFailure {
    /// When the request began.
    pub at: Timestamp,
    /// What it was answered with.
    pub status: Option<u16>,
    /// Why it failed.
    pub error: String,
}

/// One hand-over of a webhook to a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    /// What is handed over.
    pub webhook: Arc<Webhook>,
    /// Counts up at every enqueue, release, divert and deferral. 1-based.
    pub number: u64,
    /// The attempt that would be made next. 1-based.
    pub attempt: u32,
    /// When it was meant to be handed over.
    pub scheduled_at: Timestamp,
    /// Whether it ever waited, so that `howk.state` holds a snapshot of it.
    pub waited: bool,
    /// Whether an earlier hand-over of this attempt was taken over from an owner that may have made the request: whoever
    /// took it over made none, and handed the attempt on.
    pub taken_over: bool,
    /// The dispatch whose dead letter this life began from; 0 in the first life.
    pub replayed_from: u64,
    /// Why the last request of this life failed.
    pub last_failure: Option<Arc<LastFailure>>,
}

impl Dispatch {
    /// The first hand-over, made at acceptance.
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

    /// The next hand-over of the same attempt, no request having been made.
    #[must_use]
    pub fn again(&self, at: Timestamp) -> Self {
        Self { number: self.number.saturating_add(1), scheduled_at: at, ..self.clone() }
    }

    /// The hand-over of the next attempt, after this one failed.
    #[must_use]
    pub fn next_attempt(&self, at: Timestamp, failure: LastFailure) -> Self {
        Self { attempt: self.attempt.saturating_add(1), ..self.same_attempt(at, failure) }
    }

    /// The hand-over of an attempt that could not be made.
    #[must_use]
    pub fn same_attempt(&self, at: Timestamp, failure: LastFailure) -> Self {
        Self { taken_over: false, last_failure: Some(Arc::new(failure)), ..self.again(at) }
    }

    /// The first hand-over of a new life, from the dead letter of this one.
    #[must_use]
    pub fn replay(&self, at: Timestamp) -> Self {
        Self { attempt: 1, taken_over: false, replayed_from: self.number, last_failure: None, ..self.again(at) }
    }

    /// Whether this is the last attempt that its webhook may make.
    pub fn is_last_attempt(&self) -> bool {
        self.attempt >= self.webhook.max_attempts
    }
}
