//! One invocation, as a handler sees it.

use std::time::Duration;

use domain::Timestamp;
use lambda_runtime::Context;
use settings::Lambda;

use crate::deadline::deadline;

/// One invocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invoked {
    /// When its work must be over, so that there is time to write statistics and metrics and to answer.
    pub until: Timestamp,
}

impl Invoked {
    /// The invocation of this context, which begins now.
    pub fn of(context: &Context, now: Timestamp, settings: &Lambda) -> Self {
        Self::lasting_until(deadline(context.deadline, now, settings.timeout), settings.deadline_margin)
    }

    /// An invocation that ends at `deadline`.
    pub fn lasting_until(deadline: Timestamp, margin: Duration) -> Self {
        Self { until: deadline.minus(margin) }
    }
}
