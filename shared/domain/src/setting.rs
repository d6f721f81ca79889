//! What an endpoint's owner decided about it, for one tenant.

use crate::id::{ConfigId, EndpointHash};
use crate::time::Timestamp;

/// What the owner decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum EndpointSetting {
    /// Requests are made.
    #[default]
    Active,
    /// Webhooks are held until the owner resumes the endpoint.
    Paused,
    /// Webhooks are held until the owner enables the endpoint.
    Disabled,
    /// The endpoint answered 410. It counts as disabled.
    Gone,
}

impl EndpointSetting {
    /// Whether requests are made, so that nothing is held for the owner.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Active)
    }
}

/// A decision about one tenant's endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingDecision {
    /// The endpoint.
    pub endpoint: EndpointHash,
    /// The tenant.
    pub config_id: ConfigId,
    /// What was decided.
    pub state: EndpointSetting,
    /// When. Of two decisions about one endpoint the later one counts.
    pub decided_at: Timestamp,
}
