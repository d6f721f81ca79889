//! Settings of the functions, which run in AWS Lambda.

use std::time::Duration;

use crate::api::Api;
use crate::kinds::{Kind, flag, mins, ms, secs, span};
use crate::validation_error::ValidationError;

/// The largest request to the API, in bytes, that functions can serve. An event of Lambda holds 6 MB, in which the request
/// stands in base64 (4 characters for 3 bytes) inside an envelope of at most 64 KB. A webhook of a larger request would be
/// accepted, but reach no lane. infra's `inequalities.ts` computes the same bound.
const REQUEST_BYTES_MAX: u64 = (6 * 1024 * 1024 - 64 * 1024) / 4 * 3;

section! {
    /// The functions, which run in AWS Lambda.
    "lambda." Lambda {
        /// How long an invocation may last where the deadline that the platform names is implausible: local emulators name
        /// one that has passed. A lane's invocation needs `delivery.timeout` and a few seconds more.
        timeout: Duration = span(secs(1)..=mins(15)).or(mins(1));
        /// How long before its deadline an invocation stops, to write its statistics and metrics and to answer.
        deadline_margin: Duration = span(ms(100)..=mins(1)).or(secs(1));
        /// Whether the event source mappings of the lanes take partial batch responses (`ReportBatchItemFailures`). Without
        /// them, a lane publishes the records again that it has no time for, and a failure of howk's own fails the whole batch.
        partial_responses: bool = flag().or(true);
    }
}

/// The errors of settings that Lambda cannot carry.
pub(crate) fn beyond_lambda(api: &Api) -> Vec<ValidationError> {
    let max = api.max_request_size;
    let problem = format!(
        "{max} is more than the {REQUEST_BYTES_MAX} bytes of a request whose webhook fits into an event of Lambda, 6 MB in \
         base64; set {REQUEST_BYTES_MAX} or less"
    );
    (max > REQUEST_BYTES_MAX).then(|| ValidationError::of("api.max_request_size", problem)).into_iter().collect()
}
