//! Port `endpoints`: the state of endpoints, and what is held for their owners.

use async_trait::async_trait;
use domain::{ConfigId, EndpointHash, EndpointSetting, EndpointState, Timestamp, Waiting};

use crate::fault::Fault;

/// One tenant's decision about an endpoint, and the number of webhooks that are held for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingView {
    /// The tenant.
    pub config_id: ConfigId,
    /// The decision.
    pub state: EndpointSetting,
    /// How many webhooks are held.
    pub held: u64,
}

/// What is known of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointView {
    /// Its identity.
    pub hash: EndpointHash,
    /// Its URL, once a report or a held webhook brought it.
    pub url: Option<String>,
    /// Its circuit, cooldown and counts.
    pub state: EndpointState,
    /// Requests under way.
    pub inflight: u64,
    /// The tenants whose decision is not *active*, or for whom webhooks are held.
    pub settings: Vec<SettingView>,
}

/// Reads endpoints. Nothing is kept of an endpoint in its normal state.
///
/// Contract: holding a webhook and taking it out are atomic; a webhook stays held until [`domain::Write::Unhold`].
#[async_trait]
pub trait Endpoints: Send + Sync {
    /// What is known of one endpoint at `now`; `None` when nothing is.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn endpoint(&self, hash: &EndpointHash, now: Timestamp) -> Result<Option<EndpointView>, Fault>;

    /// The endpoints that are not in their normal state, by hash, those after `after`, at most `limit`.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn unhealthy(&self, after: Option<&EndpointHash>, limit: usize) -> Result<Vec<EndpointHash>, Fault>;

    /// Webhooks that are held for one tenant's endpoint, at most `limit`; fewer, but not none, when they would
    /// fill the memory of the caller.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn held(&self, hash: &EndpointHash, config: &ConfigId, limit: usize) -> Result<Vec<Waiting>, Fault>;
}
