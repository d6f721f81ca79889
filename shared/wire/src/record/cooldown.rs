//! A cooldown within the snapshot of a waiting webhook.

use domain::Cooldown;
use serde::{Deserialize, Serialize};

use crate::time::Time;

/// The fields, in the order of writing.
#[derive(Serialize, Deserialize)]
pub(super) struct CooldownValue {
    ends_at: Time,
    window_end: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probe_until: Option<Time>,
    confirmed: bool,
}

impl CooldownValue {
    pub(super) fn of(cooldown: Cooldown) -> Self {
        Self {
            ends_at: Time(cooldown.ends_at),
            window_end: Time(cooldown.window_end),
            probe_until: cooldown.probe_until.map(Time),
            confirmed: cooldown.confirmed,
        }
    }

    pub(super) fn into_cooldown(self) -> Cooldown {
        Cooldown {
            ends_at: self.ends_at.0,
            window_end: self.window_end.0,
            probe_until: self.probe_until.map(|Time(until)| until),
            confirmed: self.confirmed,
        }
    }
}
