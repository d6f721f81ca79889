//! Problem documents (RFC 9457): every error that a caller sees.
//!
//! `type` is stable, for programs; `detail` is for people. No text shows a secret, a header's value or the causes of a
//! fault (SE-1): a fault is logged where it is turned into a document.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use delivery::{Fault, FaultKind};
use serde::Serialize;
use utoipa::ToSchema;

use crate::validation::{RequestError, ValidationError};

pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

/// What went wrong.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// The kind of problem, stable.
    #[serde(rename = "type")]
    #[schema(example = "urn:howk:problem:validation")]
    kind: &'static str,
    /// The kind in words.
    title: &'static str,
    /// The status code.
    #[schema(example = 422)]
    status: u16,
    /// What happened this time.
    detail: String,
    /// Every field that breaks a rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<ValidationError>,
    #[serde(skip)]
    retry_after_s: Option<u16>,
}

impl Problem {
    fn new(status: StatusCode, kind: &'static str, title: &'static str) -> Self {
        let status = status.as_u16();
        Self { kind, title, status, detail: title.to_owned(), errors: Vec::new(), retry_after_s: None }
    }

    fn detailed(self, detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), ..self }
    }

    /// The status code.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// 400: the body is not JSON.
    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "urn:howk:problem:malformed", "The body cannot be read").detailed(detail)
    }

    /// 401: no key, or an unknown one.
    pub(crate) fn unauthorized(detail: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "urn:howk:problem:unauthorized", "A valid API key is needed")
            .detailed(detail)
    }

    /// 403: the key does not cover this.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "urn:howk:problem:forbidden", "The API key does not cover this")
            .detailed(detail)
    }

    /// 404: there is no such thing, or it is another tenant's (TN-1).
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "urn:howk:problem:not-found", "Not found").detailed(detail)
    }

    /// 405: the route exists, the method does not.
    pub(crate) fn method_not_allowed() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "urn:howk:problem:method-not-allowed", "Method not allowed")
            .detailed("the Allow header lists the methods of this route")
    }

    /// 409: another caller does the same at this moment.
    pub(crate) fn in_progress(detail: &str) -> Self {
        Self::new(StatusCode::CONFLICT, "urn:howk:problem:in-progress", "Already in progress").detailed(detail)
    }

    /// 413: the body is too large.
    pub(crate) fn too_large(bytes_max: usize) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "urn:howk:problem:too-large", "The body is too large")
            .detailed(format!("a body must not be longer than {bytes_max} bytes"))
    }

    /// 422: fields break their rules.
    pub(crate) fn invalid(errors: Vec<ValidationError>) -> Self {
        let problem =
            Self::new(StatusCode::UNPROCESSABLE_ENTITY, "urn:howk:problem:validation", "The request breaks a rule");
        problem.with_errors(errors)
    }

    /// 422: one field breaks its rule.
    pub(crate) fn invalid_field(field: &str, message: impl Into<String>) -> Self {
        Self::invalid(vec![ValidationError { field: field.to_owned(), message: message.into() }])
    }

    /// 422: the address policy refuses the endpoint that stands at `field`.
    pub(crate) fn address_refused(field: String, reason: String) -> Self {
        let problem = Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "urn:howk:problem:address_refused",
            "Webhooks are not sent to this address",
        );
        problem.with_errors(vec![ValidationError { field, message: reason }])
    }

    /// 422: the webhook wants a script and there is none.
    pub(crate) fn script_required(field: String, config_id: &domain::ConfigId) -> Self {
        let problem = Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "urn:howk:problem:script_required",
            "A script is required and there is none",
        );
        let message = format!("no script is configured for \"{config_id}\"");
        problem.with_errors(vec![ValidationError { field, message }])
    }

    /// 422: no webhook of a batch was accepted; the answer lists why, one by one.
    pub(crate) fn none_accepted() -> Self {
        Self::invalid(Vec::new()).detailed("no webhook of the batch was accepted; each has its error")
    }

    fn with_errors(self, errors: Vec<ValidationError>) -> Self {
        let detail = match errors.as_slice() {
            [error] if error.field.is_empty() => format!("the body {}", error.message),
            [error] => format!("{}: {}", error.field, error.message),
            errors => format!("{} fields break a rule; errors lists them", errors.len()),
        };
        Self { errors, ..self.detailed(detail) }
    }
}

impl From<RequestError> for Problem {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Malformed { line: 0, detail } => Self::malformed(detail),
            // serde_json's text ends with the line and the column.
            RequestError::Malformed { detail, .. } => {
                Self::malformed(format!("the body is not valid JSON: {detail}"))
            }
            RequestError::Invalid(errors) => Self::invalid(errors),
        }
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        tracing::error!(kind = fault.kind.code(), fault = fault.chain(), "a request failed");
        let unavailable =
            Self::new(StatusCode::SERVICE_UNAVAILABLE, "urn:howk:problem:unavailable", "Temporarily unavailable");
        match fault.kind {
            FaultKind::OverLimit => Self {
                retry_after_s: Some(1),
                ..unavailable.detailed("too many requests are under way: nothing was accepted, repeat the request")
            },
            FaultKind::Transient => Self {
                retry_after_s: Some(5),
                ..unavailable.detailed("a part of howk cannot be reached: repeat the request")
            },
            FaultKind::Permanent => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "urn:howk:problem:internal", "Internal error")
                    .detailed("the request could not be served; the log of howk says why")
            }
        }
    }
}

/// The answer to a request that took too long: a problem document that says when to repeat it.
pub fn late() -> Response {
    Problem::from(Fault::new(FaultKind::Transient, "not answered in time")).into_response()
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = problem_response(self.status(), &self);
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED.as_u16() {
            let challenge = HeaderValue::from_static("Bearer realm=\"howk\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// A response whose body is a problem document, perhaps with more members.
pub(crate) fn problem_response(status: StatusCode, body: &impl Serialize) -> Response {
    // These bodies are plain structures: writing them cannot fail.
    let body = serde_json::to_vec(body).unwrap_or_default();
    (status, [(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON))], body).into_response()
}
