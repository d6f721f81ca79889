//! The Runtime API of one environment, to the public specification, and as much of the Extensions API as a function needs
//! that wants a SIGTERM before it is shut down.
//!
//! It turns the process's calls into events; the environment handles them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::to_bytes;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use domain::Timestamp;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use super::answer::Answer;
use super::invocation::Invocation;

/// Bytes of an answer, at most.
const ANSWER_BYTES_MAX: usize = 6 * 1024 * 1024;

/// A call of the function's process.
#[derive(Debug)]
pub(super) enum RuntimeEvent {
    /// It polls for an invocation, and waits for it here.
    Polled(oneshot::Sender<Handover>),
    /// It answered. `taken` gets whether that is the invocation under way.
    Answered { id: String, answer: Answer, taken: oneshot::Sender<bool> },
    /// It can't start.
    InitFailed(Bytes),
    /// It wants a SIGTERM before it is shut down.
    ExtensionRegistered,
}

/// An invocation on its way into the process.
#[derive(Debug)]
pub(super) struct Handover {
    pub(super) invocation: Arc<Invocation>,
    pub(super) deadline: Timestamp,
    pub(super) arn: String,
}

struct Api {
    events: mpsc::UnboundedSender<RuntimeEvent>,
    extensions: AtomicU64,
}

/// The routes. Each call becomes an event.
pub(super) fn router(events: mpsc::UnboundedSender<RuntimeEvent>) -> Router {
    let api = Arc::new(Api { events, extensions: AtomicU64::new(0) });
    Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route("/2018-06-01/runtime/invocation/{id}/response", post(response))
        .route("/2018-06-01/runtime/invocation/{id}/error", post(error))
        .route("/2018-06-01/runtime/init/error", post(init_error))
        .route("/2020-01-01/extension/register", post(register))
        .route("/2020-01-01/extension/event/next", get(extension_next))
        .with_state(api)
}

async fn next(State(api): State<Arc<Api>>) -> Response {
    let (sender, invocation) = oneshot::channel();
    api.events.send(RuntimeEvent::Polled(sender)).ok();
    match invocation.await {
        Ok(handover) => handed_over(&handover),
        Err(_) => error_response(StatusCode::GONE, "EnvironmentEnded", "the environment has ended"),
    }
}

fn handed_over(handover: &Handover) -> Response {
    let invocation = &handover.invocation;
    let mut response = Body::from(invocation.payload.clone()).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let deadline = handover.deadline.as_ms().to_string();
    let texts = [
        ("lambda-runtime-aws-request-id", invocation.id.as_str()),
        ("lambda-runtime-deadline-ms", deadline.as_str()),
        ("lambda-runtime-invoked-function-arn", handover.arn.as_str()),
        ("lambda-runtime-trace-id", invocation.trace.as_str()),
    ];
    for (name, text) in texts {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.insert(name, value);
        }
    }
    if let Some(context) = &invocation.client_context {
        headers.insert("lambda-runtime-client-context", context.clone());
    }
    response
}

async fn response(State(api): State<Arc<Api>>, Path(id): Path<String>, request: Request) -> Response {
    // A runtime that streams its answer reports a failure in a trailer. That is not read here: no function of howk streams.
    if let Ok(payload) = to_bytes(request.into_body(), ANSWER_BYTES_MAX).await {
        return answered(&api, id, Answer::success(payload)).await;
    }
    let text = format!("Response payload size exceeded maximum allowed payload size ({ANSWER_BYTES_MAX} bytes).");
    answered(&api, id, Answer::platform("Function.ResponseSizeTooLarge", &text)).await;
    error_response(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", &text)
}

async fn error(State(api): State<Arc<Api>>, Path(id): Path<String>, payload: Bytes) -> Response {
    answered(&api, id, Answer::failure(payload)).await
}

async fn answered(api: &Api, id: String, answer: Answer) -> Response {
    let (taken, was_taken) = oneshot::channel();
    api.events.send(RuntimeEvent::Answered { id, answer, taken }).ok();
    if was_taken.await.unwrap_or_default() {
        accepted()
    } else {
        error_response(StatusCode::BAD_REQUEST, "InvalidRequestID", "Invalid request ID")
    }
}

async fn init_error(State(api): State<Arc<Api>>, payload: Bytes) -> Response {
    api.events.send(RuntimeEvent::InitFailed(payload)).ok();
    accepted()
}

/// Registers an extension that wants no events. Others are refused: functions here only get the SIGTERM.
async fn register(State(api): State<Arc<Api>>, body: Bytes) -> Response {
    let wanted: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let wants_events =
        wanted.get("events").and_then(|events| events.as_array()).is_some_and(|events| !events.is_empty());
    if wants_events {
        return error_response(StatusCode::FORBIDDEN, "Extension.NotSupported", "no extension gets events here");
    }
    api.events.send(RuntimeEvent::ExtensionRegistered).ok();
    let number = api.extensions.fetch_add(1, Ordering::Relaxed);
    let id = HeaderValue::from_str(&format!("00000000-0000-4000-8000-{number:012x}"));
    let mut response =
        axum::Json(json!({ "functionName": "", "functionVersion": "$LATEST", "handler": "" })).into_response();
    if let Ok(id) = id {
        response.headers_mut().insert("lambda-extension-identifier", id);
    }
    response
}

/// Waits for ever: no extension has registered for an event. The end of the process ends the wait.
async fn extension_next() -> Response {
    std::future::pending().await
}

fn accepted() -> Response {
    (StatusCode::ACCEPTED, axum::Json(json!({ "status": "OK" }))).into_response()
}

fn error_response(status: StatusCode, kind: &str, text: &str) -> Response {
    (status, axum::Json(json!({ "errorType": kind, "errorMessage": text }))).into_response()
}
