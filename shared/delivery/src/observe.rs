//! The metrics by name: the original's four, and what else an operator watches.

use std::sync::LazyLock;

use domain::{Admission, Disposition};
use metrics::{Counter, Histogram};

/// The metrics of every single delivery, looked up once: the recorder is installed before the first delivery.
struct Hot {
    sent: Counter,
    success: Counter,
    failure: Counter,
    exhausted: Counter,
    duration: Histogram,
}

static HOT: LazyLock<Hot> = LazyLock::new(|| Hot {
    sent: metrics::counter!(DECISIONS, "decision" => "sent", "reason" => "none"),
    success: metrics::counter!(DELIVERIES, "outcome" => "success"),
    failure: metrics::counter!(DELIVERIES, "outcome" => "failure"),
    exhausted: metrics::counter!(DELIVERIES, "outcome" => "exhausted"),
    duration: metrics::histogram!(DURATION),
});

/// Webhooks accepted.
pub const RECEIVED: &str = "howk_webhooks_received_total";
/// Requests that were made, by `outcome`.
pub const DELIVERIES: &str = "howk_deliveries_total";
/// How long requests took, in seconds.
pub const DURATION: &str = "howk_delivery_duration_seconds";
/// Webhooks that wait for their time.
pub const QUEUE_DEPTH: &str = "howk_retry_queue_depth";
/// Webhooks that are due and not released yet.
pub const DUE: &str = "howk_retry_due";
/// Records of a lane that are not settled, by `lane`.
pub const LAG: &str = "howk_lane_lag";
/// Decisions, by `decision` and `reason`.
pub const DECISIONS: &str = "howk_decisions_total";
/// Records that could not be read.
pub const UNDECODABLE: &str = "howk_undecodable_records_total";
/// Due webhooks handed to a lane.
pub const RELEASED: &str = "howk_released_total";
/// Records of the log that a rebuild of the hot state replayed.
pub const REPLAYED: &str = "howk_rebuild_replayed_total";
/// Rebuilds of the hot state that were finished.
pub const REBUILT: &str = "howk_rebuilds_total";
/// Faults of howk's own parts, by `kind`.
pub const FAULTS: &str = "howk_faults_total";

/// The buckets of [`DURATION`], in seconds.
pub const DURATION_BUCKETS: [f64; 10] = [0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// Describes every metric to the recorder that is installed.
pub fn describe() {
    metrics::describe_counter!(RECEIVED, "Webhooks accepted.");
    metrics::describe_counter!(DELIVERIES, "Requests made, by outcome.");
    metrics::describe_histogram!(DURATION, metrics::Unit::Seconds, "How long requests took.");
    metrics::describe_gauge!(QUEUE_DEPTH, "Webhooks that wait for their time.");
    metrics::describe_gauge!(DUE, "Webhooks whose time has come and that are not released yet.");
    metrics::describe_gauge!(LAG, "Records of a lane that are not settled, by lane.");
    metrics::describe_counter!(DECISIONS, "Decisions made about dispatches, by decision and reason.");
    metrics::describe_counter!(UNDECODABLE, "Records that could not be read and were dead-lettered.");
    metrics::describe_counter!(RELEASED, "Due webhooks handed to a lane.");
    metrics::describe_counter!(REPLAYED, "Records of the log that a rebuild of the hot state replayed.");
    metrics::describe_counter!(REBUILT, "Rebuilds of the hot state that were finished.");
    metrics::describe_counter!(FAULTS, "Faults of howk's own parts, by kind.");
}

/// Counts a decision about a dispatch.
pub(crate) fn decided(admission: &Admission) {
    let (decision, reason) = match admission {
        Admission::Send(_) => return HOT.sent.increment(1),
        Admission::Probe(..) => ("probed", "none"),
        Admission::Divert(reason) => ("diverted", reason.code()),
        Admission::Defer(_, reason) => ("deferred", reason.code()),
        Admission::Hold(reason) => ("held", reason.code()),
        Admission::Drop(_) => ("duplicate", "none"),
        Admission::Redeliver(domain::Redeliver::NoTime) => ("redelivered", "no_time"),
        Admission::Redeliver(domain::Redeliver::StoreFailed) => ("redelivered", "store_failed"),
    };
    metrics::counter!(DECISIONS, "decision" => decision, "reason" => reason).increment(1);
}

/// Counts a request that was made.
pub(crate) fn finished(disposition: Disposition, took: std::time::Duration) {
    let outcome = match disposition {
        Disposition::Delivered => &HOT.success,
        Disposition::Retried(_) | Disposition::MovedToSlowLane | Disposition::Superseded => &HOT.failure,
        Disposition::DeadLettered(_) => &HOT.exhausted,
    };
    outcome.increment(1);
    HOT.duration.record(took.as_secs_f64());
}

/// Sets the gauges of what waits.
pub(crate) fn gauge_depth(depth: crate::ports::schedule::Depth) {
    metrics::gauge!(QUEUE_DEPTH).set(gauged(depth.waiting));
    metrics::gauge!(DUE).set(gauged(depth.due));
}

/// Sets the gauge of a lane's lag.
pub(crate) fn gauge_lag(lane: &'static str, lag: u64) {
    metrics::gauge!(LAG, "lane" => lane).set(gauged(lag));
}

/// A count as a gauge. Beyond 2^32 it stays there: the exact number no longer matters.
fn gauged(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Counts a fault.
pub(crate) fn faulted(fault: &crate::fault::Fault) {
    metrics::counter!(FAULTS, "kind" => fault.kind.code()).increment(1);
}
