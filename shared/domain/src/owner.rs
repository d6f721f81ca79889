//! What an endpoint's owner decided about it, for one tenant.

use crate::id::{ConfigId, EndpointHash};
use crate::time::Timestamp;

/// What the owner decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum OwnerState {
    /// Requests are made.
    #[default]
    Active,
    /// Webhooks are parked until it is resumed.
    Paused,
    /// Webhooks are parked until it is enabled.
    Disabled,
    /// The endpoint answered 410: as disabled.
    Gone,
}

/// A decision about one tenant's endpoint, durable before it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerDecision {
    /// The endpoint.
    pub endpoint: EndpointHash,
    /// The tenant.
    pub config_id: ConfigId,
    /// What was decided.
    pub state: OwnerState,
    /// When.
    pub decided_at: Timestamp,
}
