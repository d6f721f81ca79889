//! Port `dead letters`: the index of dead letters. The records stay in the log.

use async_trait::async_trait;
use domain::{ConfigId, DeadLetterEntry, EndpointHash, ReasonType, Timestamp, WebhookId};

use crate::fault::Fault;

/// A filter of dead letters; an empty one admits all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeadLetterFilter {
    /// Of this tenant.
    pub config_id: Option<ConfigId>,
    /// Of this endpoint.
    pub endpoint: Option<EndpointHash>,
    /// For this reason.
    pub reason_type: Option<ReasonType>,
    /// Dead-lettered at or after this.
    pub since: Option<Timestamp>,
    /// Dead-lettered before this.
    pub until: Option<Timestamp>,
}

impl DeadLetterFilter {
    /// Whether the filter admits all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the filter admits an entry.
    pub fn admits(&self, entry: &DeadLetterEntry) -> bool {
        self.config_id.as_ref().is_none_or(|config| *config == entry.config_id)
            && self.endpoint.as_ref().is_none_or(|endpoint| *endpoint == entry.endpoint)
            && self.reason_type.is_none_or(|reason| reason == entry.reason_type)
            && self.since.is_none_or(|since| entry.at >= since)
            && self.until.is_none_or(|until| entry.at < until)
    }
}

/// Where a listing goes on: after this dead letter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeadLetterCursor {
    /// When it was dead-lettered.
    pub at: Timestamp,
    /// The webhook.
    pub id: WebhookId,
}

/// The index of dead letters.
///
/// Contract: a lease is taken by one caller at a time, so that a replay is made once (64 callers at once included).
#[async_trait]
pub trait DeadLetters: Send + Sync {
    /// Entries that `filter` admits, oldest first, after `after`, at most `limit`.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn list(
        &self,
        filter: &DeadLetterFilter,
        after: Option<&DeadLetterCursor>,
        limit: usize,
    ) -> Result<Vec<DeadLetterEntry>, Fault>;

    /// The entry of one webhook.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn find(&self, id: &WebhookId) -> Result<Option<DeadLetterEntry>, Fault>;

    /// Leases an entry until `until`; `false` when it is gone or another caller holds its lease.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn lease(&self, entry: &DeadLetterEntry, now: Timestamp, until: Timestamp) -> Result<bool, Fault>;

    /// Takes an entry off the index, unless a later dead letter of the webhook has replaced it.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn forget(&self, entry: &DeadLetterEntry) -> Result<(), Fault>;
}
