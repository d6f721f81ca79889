//! Accepted webhooks and their status.

use crate::time;
use domain::{Phase, ReasonType, Status, WaitReason, WebhookId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::Problem;

/// A webhook that howk owns from now on.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Accepted {
    /// Its id.
    #[schema(example = "wh_01JZ8QK4T5W6X7Y8Z9A0B1C2D3")]
    webhook_id: String,
    /// Always `pending`.
    #[schema(example = "pending")]
    status: &'static str,
}

impl Accepted {
    pub(crate) fn new(id: &WebhookId) -> Self {
        Self { webhook_id: id.to_string(), status: "pending" }
    }
}

/// The answer to a batch.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchAnswer {
    /// One answer per webhook, in the order of the request.
    pub(crate) webhooks: Vec<BatchItem>,
    /// How many were accepted.
    pub(crate) accepted: usize,
    /// How many were refused.
    pub(crate) failed: usize,
}

/// The answer to one webhook of a batch: an id and a status, or an error.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchItem {
    /// Its place in the request, from 0.
    index: usize,
    /// Its id, when it was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook_id: Option<String>,
    /// `pending`, when it was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Problem>,
}

impl BatchItem {
    pub(crate) fn accepted(index: usize, id: &WebhookId) -> Self {
        Self { index, webhook_id: Some(id.to_string()), status: Some("pending"), error: None }
    }

    pub(crate) const fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn refused(index: usize, problem: Problem) -> Self {
        Self { index, webhook_id: None, status: None, error: Some(problem) }
    }
}

/// A problem document that also answers webhook by webhook: no webhook of the batch was accepted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchRefused {
    /// The problem.
    #[serde(flatten)]
    pub(crate) problem: Problem,
    /// The answers.
    #[serde(flatten)]
    pub(crate) answer: BatchAnswer,
}

/// The status of a webhook.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookStatus {
    /// Its id.
    webhook_id: String,
    /// `pending`, `delivering`, `failed` (waiting for a retry), `held`, `delivered` or `exhausted` (given up).
    #[schema(example = "delivered")]
    state: &'static str,
    /// Why it was given up, when it was: `exhausted` (every attempt failed), `unrecoverable` (the answer was a status that
    /// is not retried), `gone` (410) or `address_refused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "unrecoverable")]
    reason_type: Option<&'static str>,
    /// What the next request waits for, when it waits: `backoff` (after a failed attempt), `circuit` (the endpoint failed
    /// too often), `cooldown` (the endpoint's Retry-After), `busy` (too many requests are under way), `pace` (the slow
    /// lane's), `claimed` (another process has it), `paused` or `disabled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "backoff")]
    waiting_for: Option<&'static str>,
    /// Until when it waits; absent while paused or disabled, which last until the endpoint is resumed or enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    waiting_until: Option<String>,
    /// Requests made so far.
    attempts: u32,
    /// When the last request began.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    last_attempt_at: Option<String>,
    /// What the last request was answered with.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_status_code: Option<u16>,
    /// Why the last request failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    /// When the next request is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    next_retry_at: Option<String>,
    /// When it was delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    delivered_at: Option<String>,
}

impl From<Status> for WebhookStatus {
    fn from(status: Status) -> Self {
        let due = status.next.filter(|_| status.phase == Phase::Waiting).map(|next| next.due);
        let delivered_at = (status.phase == Phase::Delivered).then_some(status.updated_at);
        Self {
            webhook_id: status.id.to_string(),
            state: state(&status),
            reason_type: status.reason_type.map(ReasonType::code),
            waiting_for: status.waiting_for.map(waiting_for),
            waiting_until: due.map(time::write),
            attempts: status.attempts,
            last_attempt_at: status.last_attempt_at.map(time::write),
            last_status_code: status.last_status,
            last_error: status.last_error,
            next_retry_at: due.map(time::write),
            delivered_at: delivered_at.map(time::write),
        }
    }
}

/// The word for what a webhook waits for.
fn waiting_for(reason: WaitReason) -> &'static str {
    if reason == WaitReason::Retry { "backoff" } else { reason.code() }
}

/// The original's names. A webhook that waits without an attempt has not failed.
const fn state(status: &Status) -> &'static str {
    match status.phase {
        Phase::Pending => "pending",
        Phase::Delivering => "delivering",
        Phase::Waiting if status.attempts == 0 => "pending",
        Phase::Waiting => "failed",
        Phase::Held => "held",
        Phase::Delivered => "delivered",
        Phase::Dead => "exhausted",
    }
}
