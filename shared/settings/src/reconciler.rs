//! Settings of the rebuild of the hot state.

use std::time::Duration;

use crate::kinds::{Kind, hours, mins, span};

section! {
    /// The rebuild of the hot state.
    "reconciler." Reconciler {
        /// How often the hot state of waiting webhooks is compared with the log although nothing seems lost, since a part of
        /// the store can be lost alone. A retry that a failover of the store lost comes back within this time.
        sweep_interval: Duration = span(mins(1)..=hours(24)).or(hours(1));
    }
}
