//! Settings of the rebuild of the hot state.

use std::time::Duration;

use crate::kinds::{Kind, hours, mins, span};

section! {
    /// The rebuild of the hot state.
    "reconciler." Reconciler {
        /// How often what waits is compared with the log although nothing seems lost: a part of the store can go alone. A
        /// retry that a failover of the store lost comes back by then.
        sweep_interval: Duration = span(mins(1)..=hours(24)).or(hours(1));
    }
}
