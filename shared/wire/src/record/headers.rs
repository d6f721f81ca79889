//! The headers of every kind of record: the original's, and `dispatch`.

use domain::{Dispatch, Record, Undecodable, Waiting};

use crate::code::Code;

/// A tombstone's header: the dispatch up to which its webhook waits no more.
pub(super) const DISPATCH: &str = "dispatch";

/// W3C's header for a trace, which tracing tools look for.
const TRACEPARENT: &str = "traceparent";

type Headers = Vec<(String, Vec<u8>)>;

/// The headers of a record, in a fixed order.
pub(super) fn of(record: &Record) -> Headers {
    match record {
        Record::Dispatch(_, dispatch) => of_dispatch(dispatch),
        Record::Result(result) => list([
            ("config_id", result.status.config_id.as_str()),
            ("endpoint_hash", result.endpoint.as_str()),
            ("success", if result.is_success() { "true" } else { "false" }),
        ]),
        Record::DeadLetter(dead_letter) => list([
            ("config_id", dead_letter.dispatch.webhook.config_id.as_str()),
            ("reason", &dead_letter.reason),
            ("reason_type", dead_letter.reason_type.code()),
        ]),
        Record::Undecodable(found) => {
            list([("reason", found.error.as_str()), ("reason_type", Undecodable::REASON_TYPE)])
        }
        Record::Waiting(waiting) => list([
            ("config_id", waiting.dispatch.webhook.config_id.as_str()),
            ("state", state(waiting)),
            ("type", "state"),
        ]),
        Record::Tombstone(_, through) => list([("type", "tombstone"), (DISPATCH, &through.to_string())]),
        Record::Setting(decision) => list([
            ("config_id", decision.config_id.as_str()),
            ("endpoint_hash", decision.endpoint.as_str()),
            ("state", decision.state.code()),
            ("type", "setting"),
        ]),
    }
}

fn of_dispatch(dispatch: &Dispatch) -> Headers {
    let trace = dispatch.webhook.trace.as_ref().map(|trace| (TRACEPARENT.to_owned(), trace.as_str().into()));
    let mut headers = list([
        ("config_id", dispatch.webhook.config_id.as_str()),
        ("endpoint_hash", dispatch.webhook.endpoint.hash().as_str()),
        ("attempt", &dispatch.attempt.to_string()),
        (DISPATCH, &dispatch.number.to_string()),
    ]);
    headers.extend(trace);
    headers
}

fn state(waiting: &Waiting) -> &'static str {
    if waiting.reason.is_held() { "held" } else { "waiting" }
}

fn list<const N: usize>(headers: [(&str, &str); N]) -> Headers {
    headers.into_iter().map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec())).collect()
}
