//! Settings of the metrics that Prometheus reads.

use crate::kinds::{Kind, flag, whole};

section! {
    /// Metrics for Prometheus.
    "metrics." Metrics {
        /// Whether metrics are served.
        enabled: bool = flag().or(false);
        /// TCP port to serve metrics on; 0 takes any free port.
        port: u16 = whole(0..=65_535).or(9090);
    }
}
