//! The answer to an invocation, and the reasons why there is none.

use bytes::Bytes;
use serde_json::json;
use thiserror::Error;

/// What a function answered, or the error that the platform gives in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Whether it is an error, of the function or of its environment.
    pub failed: bool,
    /// The answer, or a JSON object with `errorType` and `errorMessage`.
    pub payload: Bytes,
}

impl Answer {
    pub(super) const fn success(payload: Bytes) -> Self {
        Self { failed: false, payload }
    }

    pub(super) const fn failure(payload: Bytes) -> Self {
        Self { failed: true, payload }
    }

    /// An error that the function did not report itself.
    pub(super) fn platform(kind: &str, text: &str) -> Self {
        let body = json!({ "errorType": kind, "errorMessage": text });
        Self::failure(Bytes::from(body.to_string()))
    }
}

/// Why an invocation did not reach a function.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvokeError {
    /// There is no such function.
    #[error("there is no function {0}")]
    Unknown(String),
    /// As many invocations as may run are running.
    #[error("rate exceeded: {0}")]
    Throttled(&'static str),
    /// The environment could not be made.
    #[error("no environment could be started: {0}")]
    NoEnvironment(String),
}
