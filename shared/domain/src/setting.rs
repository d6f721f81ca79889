//! What an endpoint's owner decided about it, for one tenant.

use crate::effect::{Effect, Write};
use crate::id::{ConfigId, EndpointHash};
use crate::record::Record;
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

/// The effects of an owner's decision, or of a 410: durable first, so that the decision survives the loss of the hot
/// state. Deciding the same again is harmless, and completes what a crash left undone. What is held for an endpoint that
/// is active again is [resumed](crate::resume) after these effects.
pub fn decide(decision: SettingDecision) -> [Effect; 2] {
    [Effect::Publish(Record::Setting(decision.clone())), Effect::Write(Write::Decide(decision))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::words;

    #[test]
    fn a_decision_is_durable_before_it_counts() {
        use EndpointSetting::{Active, Disabled, Gone, Paused};
        for state in [Active, Paused, Disabled, Gone] {
            let decision = SettingDecision {
                endpoint: EndpointHash::of("https://a.example/"),
                config_id: ConfigId::parse("tenant").unwrap(),
                state,
                decided_at: Timestamp::EPOCH,
            };
            assert_eq!(words(&decide(decision)), ["publish setting", "decide"]);
            assert_eq!(state.is_active(), state == Active);
        }
    }
}
