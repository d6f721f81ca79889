//! The outcome of one request: what the endpoint did, and what that means for the webhook.

use std::time::Duration;

/// The longest excerpt of an answer's body that is kept, in bytes: enough for an error message, small beside a webhook.
pub const EXCERPT_BYTES_MAX: usize = 1024;

/// An HTTP answer, read within bounds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The `Retry-After` of the answer, counted from its arrival.
    pub retry_after: Option<Duration>,
    /// Where a redirect pointed; never followed.
    pub location: Option<String>,
    /// The beginning of the body, at most [`EXCERPT_BYTES_MAX`] bytes.
    pub excerpt: String,
}

/// Why there was no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureKind {
    /// The total deadline passed.
    Timeout,
    /// The name has no address.
    Dns,
    /// No connection could be made.
    Connect,
    /// The connection could not be secured.
    Tls,
    /// The connection broke or did not speak HTTP.
    Transport,
    /// The address policy refuses every address of the name.
    AddressRefused,
    /// The request cannot be made: a header or the URL is not sendable.
    Unsendable,
    /// The webhook's secrets are sealed with a key that this deployment does not have.
    Sealed,
}

/// What the endpoint did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It answered.
    Answered(Answer),
    /// It did not answer, or no request was made.
    Failed {
        /// Why.
        kind: FailureKind,
        /// The readable reason, without query strings and user info.
        detail: String,
    },
}

/// What an outcome means for the webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// 2xx: the webhook is delivered.
    Delivered,
    /// 410: the endpoint wants no more webhooks.
    Gone,
    /// Another attempt may succeed.
    Retryable,
    /// No attempt will ever succeed.
    Unrecoverable,
    /// The address policy refuses to send there.
    AddressRefused,
}

impl Outcome {
    /// The status code, when there was an answer.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Answered(answer) => Some(answer.status),
            Self::Failed { .. } => None,
        }
    }

    /// The `Retry-After` of an answer that is no success.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Answered(answer) if !(200..300).contains(&answer.status) => answer.retry_after,
            Self::Answered(_) | Self::Failed { .. } => None,
        }
    }

    /// Whether the total deadline passed.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Failed { kind: FailureKind::Timeout, .. })
    }

    /// Whether no request was made, so that the outcome says nothing about the endpoint.
    pub fn is_unsent(&self) -> bool {
        matches!(
            self,
            Self::Failed { kind: FailureKind::AddressRefused | FailureKind::Unsendable | FailureKind::Sealed, .. }
        )
    }

    /// Whether no request was made because the vault key of the webhook's secrets is missing.
    pub const fn lacks_key(&self) -> bool {
        matches!(self, Self::Failed { kind: FailureKind::Sealed, .. })
    }

    /// What the outcome means; `retry_on_status` are the webhook's own retryable statuses.
    pub fn verdict(&self, retry_on_status: &[u16]) -> Verdict {
        match self {
            Self::Answered(answer) => match answer.status {
                200..=299 => Verdict::Delivered,
                status if retry_on_status.contains(&status) => Verdict::Retryable,
                410 => Verdict::Gone,
                408 | 429 | 500.. => Verdict::Retryable,
                _ => Verdict::Unrecoverable,
            },
            Self::Failed { kind: FailureKind::AddressRefused, .. } => Verdict::AddressRefused,
            Self::Failed { kind: FailureKind::Unsendable, .. } => Verdict::Unrecoverable,
            Self::Failed { .. } => Verdict::Retryable,
        }
    }

    /// The readable reason of a failure; `None` for a success.
    pub fn error(&self) -> Option<String> {
        match self {
            Self::Answered(answer) => match (answer.status, &answer.location) {
                (200..=299, _) => None,
                (status @ 300..=399, Some(location)) => {
                    Some(format!("redirects are not followed: {status} to {location}"))
                }
                (status, _) => Some(format!("the endpoint answered {status}")),
            },
            Self::Failed { detail, .. } => Some(detail.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, retry_after: Option<Duration>, location: Option<&str>) -> Outcome {
        let location = location.map(str::to_owned);
        Outcome::Answered(Answer { status, retry_after, location, ..Answer::default() })
    }

    fn failed(kind: FailureKind) -> Outcome {
        Outcome::Failed { kind, detail: "it failed".to_owned() }
    }

    #[test]
    fn every_status_has_a_verdict() {
        for status in 0..=u16::MAX {
            let expected = match status {
                200..=299 => Verdict::Delivered,
                410 => Verdict::Gone,
                408 | 429 | 500.. => Verdict::Retryable,
                _ => Verdict::Unrecoverable,
            };
            let outcome = answered(status, None, None);
            assert_eq!(outcome.verdict(&[]), expected, "{status}");
            let listed = if expected == Verdict::Delivered { expected } else { Verdict::Retryable };
            assert_eq!(outcome.verdict(&[1, status]), listed, "{status}, listed in retry_on_status");
        }
    }

    #[test]
    fn every_failure_has_a_verdict() {
        for (kind, expected) in [
            (FailureKind::Timeout, Verdict::Retryable),
            (FailureKind::Dns, Verdict::Retryable),
            (FailureKind::Connect, Verdict::Retryable),
            (FailureKind::Tls, Verdict::Retryable),
            (FailureKind::Transport, Verdict::Retryable),
            (FailureKind::AddressRefused, Verdict::AddressRefused),
            (FailureKind::Unsendable, Verdict::Unrecoverable),
            (FailureKind::Sealed, Verdict::Retryable),
        ] {
            let outcome = failed(kind);
            assert_eq!(outcome.verdict(&[0]), expected, "{kind:?}");
            assert_eq!((outcome.status(), outcome.retry_after()), (None, None));
            assert_eq!(outcome.is_timeout(), kind == FailureKind::Timeout);
            assert_eq!(outcome.error().as_deref(), Some("it failed"));
        }
    }

    #[test]
    fn a_success_has_no_retry_after_and_no_error() {
        let rest = Some(Duration::from_secs(9));
        for (status, location, asked, error) in [
            (200, None, None, None),
            (299, Some("/x"), None, None),
            (301, Some("/x"), rest, Some("redirects are not followed: 301 to /x")),
            (304, None, rest, Some("the endpoint answered 304")),
            (404, Some("/x"), rest, Some("the endpoint answered 404")),
            (503, None, rest, Some("the endpoint answered 503")),
        ] {
            let outcome = answered(status, rest, location);
            assert_eq!((outcome.status(), outcome.retry_after()), (Some(status), asked), "{status}");
            assert_eq!(outcome.error().as_deref(), error);
            assert!(!outcome.is_timeout());
        }
    }
}
