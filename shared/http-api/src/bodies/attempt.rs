//! The requests that were made for a webhook.

use crate::time;
use domain::{Attempt, Cause, WebhookId};
use serde::Serialize;
use utoipa::ToSchema;

/// The last requests made for a webhook, at most 20.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Attempts {
    /// Its id.
    webhook_id: String,
    /// The requests, oldest first.
    attempts: Vec<AttemptMade>,
}

/// One request that was made.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AttemptMade {
    /// Counted from 1; a replay counts anew.
    number: u32,
    /// The dispatch that made it.
    dispatch: u64,
    /// `first`, `retry`, `replay`, `takeover` or `unclaimed`: why it was made. The last two may repeat a request that was made before.
    #[schema(example = "first")]
    cause: &'static str,
    /// When it began.
    #[schema(format = DateTime)]
    at: String,
    /// How long it took.
    duration_ms: u64,
    /// What it was answered with.
    #[serde(skip_serializing_if = "Option::is_none")]
    status_code: Option<u16>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// `success` or `failure`.
    #[schema(example = "success")]
    outcome: &'static str,
}

impl Attempts {
    pub(crate) fn new(id: &WebhookId, attempts: Vec<Attempt>) -> Self {
        Self { webhook_id: id.to_string(), attempts: attempts.into_iter().map(AttemptMade::from).collect() }
    }
}

impl From<Attempt> for AttemptMade {
    fn from(attempt: Attempt) -> Self {
        Self {
            number: attempt.number,
            dispatch: attempt.dispatch,
            cause: match attempt.cause {
                Cause::First => "first",
                Cause::Retry => "retry",
                Cause::Replay => "replay",
                Cause::Takeover => "takeover",
                Cause::Unclaimed => "unclaimed",
            },
            at: time::write(attempt.at),
            duration_ms: u64::try_from(attempt.took.as_millis()).unwrap_or(u64::MAX),
            status_code: attempt.status,
            outcome: if attempt.error.is_none() { "success" } else { "failure" },
            error: attempt.error,
        }
    }
}
