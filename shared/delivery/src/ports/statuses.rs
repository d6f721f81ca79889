//! Port `statuses`: the statuses of webhooks and their last attempts, for readers.

use async_trait::async_trait;
use domain::{Attempt, Status, WebhookId};

use crate::fault::Fault;

/// Reads statuses. [`domain::Write::Settle`] and [`domain::Write::Merge`] write them.
///
/// Contract: while a live claim is held, a pending webhook reads as delivering.
#[async_trait]
pub trait Statuses: Send + Sync {
    /// The statuses of webhooks, in order; `None` for one that is not known.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn statuses(&self, ids: &[WebhookId]) -> Result<Vec<Option<Status>>, Fault>;

    /// The last attempts of a webhook, oldest first, at most [`domain::ATTEMPTS_KEPT`]; `None` when it is not known.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn attempts(&self, id: &WebhookId) -> Result<Option<Vec<Attempt>>, Fault>;
}
