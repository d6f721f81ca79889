//! A gate within the snapshot of a waiting webhook.

use domain::Gate;
use serde::{Deserialize, Serialize};

use crate::time::Time;

/// The fields, in the order of writing.
#[derive(Serialize, Deserialize)]
pub(super) struct GateValue {
    opens_at: Time,
    window_end: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probe_until: Option<Time>,
    confirmed: bool,
}

impl GateValue {
    pub(super) fn of(gate: Gate) -> Self {
        Self {
            opens_at: Time(gate.opens_at),
            window_end: Time(gate.window_end),
            probe_until: gate.probe_until.map(Time),
            confirmed: gate.confirmed,
        }
    }

    pub(super) fn into_gate(self) -> Gate {
        Gate {
            opens_at: self.opens_at.0,
            window_end: self.window_end.0,
            probe_until: self.probe_until.map(|Time(until)| until),
            confirmed: self.confirmed,
        }
    }
}
