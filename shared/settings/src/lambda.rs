//! Settings of the functions, which run in AWS Lambda.

use std::time::Duration;

use crate::kinds::{Kind, flag, mins, ms, secs, span};

section! {
    /// The functions, which run in AWS Lambda.
    "lambda." Lambda {
        /// How long an invocation may last where the platform names no deadline that can be: local emulators name one that
        /// has passed. A lane's invocation needs `delivery.timeout` and a few seconds more.
        timeout: Duration = span(secs(1)..=mins(15)).or(mins(1));
        /// How long before its deadline an invocation stops, to write its statistics and metrics and to answer.
        deadline_margin: Duration = span(ms(100)..=mins(1)).or(secs(1));
        /// Whether the event source mappings of the lanes take partial batch responses (`ReportBatchItemFailures`). Without
        /// them, what a lane has no time for is published again, and what howk could not do fails the whole batch.
        partial_responses: bool = flag().or(true);
    }
}
