//! What an endpoint's owner decided about it, for one tenant.

use crate::id::{ConfigId, EndpointHash};
use crate::time::Timestamp;

/// What the owner decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum EndpointSetting {
    /// Requests are made.
    #[default]
    Active,
    /// Webhooks are held until it is resumed.
    Paused,
    /// Webhooks are held until it is enabled.
    Disabled,
    /// The endpoint answered 410: as disabled.
    Gone,
}

/// A decision about one tenant's endpoint, durable before it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingDecision {
    /// The endpoint.
    pub endpoint: EndpointHash,
    /// The tenant.
    pub config_id: ConfigId,
    /// What was decided.
    pub state: EndpointSetting,
    /// When.
    pub decided_at: Timestamp,
}
