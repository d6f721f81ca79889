//! JSON answers.

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// A response with a JSON body.
pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    // These bodies are plain structures: writing them cannot fail.
    let body = serde_json::to_vec(body).unwrap_or_default();
    (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}
