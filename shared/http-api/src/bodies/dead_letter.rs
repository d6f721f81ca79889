//! Dead letters and their replay.

use std::collections::BTreeMap;

use crate::time;
use delivery::dead_letters::Listed;
use domain::{DeadLetter, WebhookId};
use serde::Serialize;
use utoipa::ToSchema;

/// A page of dead letters.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeadLetterPage {
    /// The dead letters, oldest first.
    pub(crate) deadletters: Vec<DeadLetterItem>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// A webhook that was given up.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeadLetterItem {
    /// Its id.
    webhook_id: String,
    /// Whose it is.
    config_id: String,
    /// The endpoint's identity.
    endpoint_hash: String,
    /// The kind of reason.
    #[schema(example = "exhausted")]
    reason_type: &'static str,
    /// When it was given up.
    #[schema(format = DateTime)]
    at: String,
    /// The content of its record; absent once the log's retention has deleted the record.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    dead_letter: Option<DeadLetterDetail>,
}

/// The content of the record of a dead letter.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeadLetterDetail {
    /// The endpoint's URL, without its query.
    endpoint: String,
    /// The reason in words.
    reason: String,
    /// The last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    /// What the last request was answered with.
    #[serde(skip_serializing_if = "Option::is_none")]
    status_code: Option<u16>,
    /// The beginning of the last answer's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_body: Option<String>,
    /// Requests made.
    attempts: u32,
    /// The names of the webhook's headers; values are never shown.
    headers: BTreeMap<String, &'static str>,
}

/// A dead letter that was replayed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReplayedOne {
    /// Its id.
    pub(crate) webhook_id: String,
    /// The dispatch that its new life begins with.
    pub(crate) dispatch: u64,
}

/// Dead letters that were replayed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReplayedMany {
    /// How many.
    replayed: usize,
    /// Which.
    webhook_ids: Vec<String>,
}

impl ReplayedMany {
    pub(crate) fn new(ids: &[WebhookId]) -> Self {
        Self { replayed: ids.len(), webhook_ids: ids.iter().map(WebhookId::to_string).collect() }
    }
}

impl From<Listed> for DeadLetterItem {
    fn from(Listed { entry, dead_letter }: Listed) -> Self {
        Self {
            webhook_id: entry.id.to_string(),
            config_id: entry.config_id.to_string(),
            endpoint_hash: entry.endpoint.to_string(),
            reason_type: entry.reason_type.code(),
            at: time::write(entry.at),
            dead_letter: dead_letter.map(DeadLetterDetail::from),
        }
    }
}

impl From<DeadLetter> for DeadLetterDetail {
    fn from(dead_letter: DeadLetter) -> Self {
        let webhook = &dead_letter.dispatch.webhook;
        Self {
            endpoint: webhook.endpoint.shown().to_owned(),
            attempts: dead_letter.dispatch.attempt,
            headers: webhook.headers.iter().map(|header| (header.name.clone(), "[REDACTED]")).collect(),
            reason: dead_letter.reason,
            last_error: dead_letter.last_error,
            status_code: dead_letter.status,
            response_body: dead_letter.response_body,
        }
    }
}
