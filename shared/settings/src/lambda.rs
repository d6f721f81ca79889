//! Settings of the functions, which run in AWS Lambda.

use std::time::Duration;

use crate::api::Api;
use crate::kinds::{Kind, flag, mins, ms, secs, span};
use crate::mistake::ValidationError;

/// The largest request to the API, in bytes, that functions can serve: Lambda takes 6 MB, in which what a request brings
/// stands in base64, with room around it. A webhook of a larger one would be accepted, but reach no lane. The
/// deployment's bound is the same.
const REQUEST_BYTES_MAX: u64 = (6 * 1024 * 1024 - 64 * 1024) / 4 * 3;

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

/// What Lambda cannot carry.
pub(crate) fn beyond_lambda(api: &Api) -> Vec<ValidationError> {
    let max = api.max_request_size;
    let problem = format!(
        "{max} is more than the {REQUEST_BYTES_MAX} bytes of a request whose webhook fits into an event of Lambda, 6 MB in \
         base64; set {REQUEST_BYTES_MAX} or less"
    );
    (max > REQUEST_BYTES_MAX).then(|| ValidationError::of("api.max_request_size", problem)).into_iter().collect()
}
