//! How an owner's setting of an endpoint takes effect. The operator's use-case calls it, and `settle` after a 410.

use crate::effect::{Effect, Write};
use crate::record::Record;
use crate::setting::SettingDecision;

/// The effects of an owner's decision, or of a 410: durable first, so that the decision survives the loss of the hot
/// state. Deciding the same again is harmless, and completes what a crash left undone. What is held for an endpoint that
/// is active again is [resumed](crate::resume) after these effects.
pub fn decide(decision: SettingDecision) -> [Effect; 2] {
    [Effect::Publish(Record::Setting(decision.clone())), Effect::Write(Write::Decide(decision))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{ConfigId, EndpointHash};
    use crate::samples::words;
    use crate::setting::EndpointSetting;
    use crate::time::Timestamp;

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
