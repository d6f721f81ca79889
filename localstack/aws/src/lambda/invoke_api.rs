//! The public Invoke API: `POST /2015-03-31/functions/{name}/invocations`.
//!
//! Everything that triggers a function here uses this API and nothing else, so it can drive any emulator too.

use std::sync::Arc;

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::json;

use super::answer::{Answer, InvokeError};
use super::invocation::Invocation;
use super::service::Lambda;
use super::{function_arn, invocation};

/// Bytes of a synchronous event, at most.
pub const SYNC_BYTES_MAX: usize = 6 * 1024 * 1024;
/// Bytes of an asynchronous event, at most.
pub const ASYNC_BYTES_MAX: usize = 1024 * 1024;

const TYPE: &str = "x-amz-invocation-type";
const TRACE: &str = "x-amzn-trace-id";
const CONTEXT: &str = "x-amz-client-context";

/// The type of an invocation, by `X-Amz-Invocation-Type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    RequestResponse,
    Event,
    DryRun,
}

/// An error in AWS's shape.
struct Problem {
    status: StatusCode,
    kind: &'static str,
    body: serde_json::Value,
}

/// The routes.
pub fn router(lambda: Lambda) -> Router {
    Router::new().route("/2015-03-31/functions/{name}/invocations", post(invoke)).with_state(Arc::new(lambda))
}

async fn invoke(State(lambda): State<Arc<Lambda>>, Path(name): Path<String>, request: Request) -> Response {
    let answered = answer(&lambda, &name, request).await;
    let mut response = answered.unwrap_or_else(IntoResponse::into_response);
    if !response.headers().contains_key("x-amzn-requestid") {
        set(response.headers_mut(), "x-amzn-requestid", &invocation::fresh_id(&*lambda.shared.random));
    }
    response
}

async fn answer(lambda: &Lambda, name: &str, request: Request) -> Result<Response, Problem> {
    let name = name_of(name);
    if !lambda.knows(name) {
        return Err(Problem::from(InvokeError::Unknown(name.to_owned())));
    }
    let (parts, body) = request.into_parts();
    let wanted = wanted(&parts.headers)?;
    let most = if wanted == Wanted::Event { ASYNC_BYTES_MAX } else { SYNC_BYTES_MAX };
    let payload = to_bytes(body, most).await.map_err(|_| Problem::too_large(most))?;
    let payload = if payload.is_empty() { Bytes::from_static(b"{}") } else { payload };
    if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(&payload) {
        return Err(Problem::unreadable(&error));
    }
    let invocation = with_headers(lambda.invocation(payload), &parts.headers);
    match wanted {
        Wanted::DryRun => Ok(StatusCode::NO_CONTENT.into_response()),
        Wanted::Event => {
            let mut response = StatusCode::ACCEPTED.into_response();
            set(response.headers_mut(), "x-amzn-requestid", &invocation.id);
            lambda.invoke_later(name, invocation)?;
            Ok(response)
        }
        Wanted::RequestResponse => {
            let (id, trace) = (invocation.id.clone(), invocation.trace.clone());
            let answer = lambda.invoke(name, invocation).await?;
            let mut response = answered(answer);
            set(response.headers_mut(), "x-amzn-requestid", &id);
            set(response.headers_mut(), TRACE, &trace);
            Ok(response)
        }
    }
}

/// The name of a function in a path: the name alone, or the ARN, with or without `:$LATEST`, the only version here.
fn name_of(path: &str) -> &str {
    let name = path.strip_prefix(&function_arn("")).unwrap_or(path);
    name.strip_suffix(":$LATEST").unwrap_or(name)
}

fn wanted(headers: &HeaderMap) -> Result<Wanted, Problem> {
    match headers.get(TYPE).map(HeaderValue::as_bytes) {
        None | Some(b"RequestResponse") => Ok(Wanted::RequestResponse),
        Some(b"Event") => Ok(Wanted::Event),
        Some(b"DryRun") => Ok(Wanted::DryRun),
        Some(_) => Err(Problem {
            status: StatusCode::BAD_REQUEST,
            kind: "InvalidParameterValueException",
            body: json!({ "Type": "User", "message": "InvocationType is RequestResponse, Event or DryRun" }),
        }),
    }
}

fn with_headers(mut invocation: Invocation, headers: &HeaderMap) -> Invocation {
    if let Some(trace) = headers.get(TRACE).and_then(|trace| trace.to_str().ok()) {
        invocation.join(trace);
    }
    invocation.client_context = headers.get(CONTEXT).cloned();
    invocation
}

fn answered(answer: Answer) -> Response {
    let mut response = answer.payload.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert("x-amz-executed-version", HeaderValue::from_static("$LATEST"));
    if answer.failed {
        headers.insert("x-amz-function-error", HeaderValue::from_static("Unhandled"));
    }
    response
}

fn set(headers: &mut HeaderMap, name: &'static str, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(name, value);
    }
}

impl Problem {
    fn too_large(most: usize) -> Self {
        let text = format!("Request must be smaller than {most} bytes for the InvokeFunction operation");
        Self {
            status: StatusCode::PAYLOAD_TOO_LARGE,
            kind: "RequestTooLargeException",
            body: json!({ "Type": "User", "message": text }),
        }
    }

    fn unreadable(error: &serde_json::Error) -> Self {
        let text = format!("Could not parse request body into json: {error}");
        Self {
            status: StatusCode::BAD_REQUEST,
            kind: "InvalidRequestContentException",
            body: json!({ "Type": "User", "message": text }),
        }
    }
}

impl From<InvokeError> for Problem {
    fn from(refused: InvokeError) -> Self {
        match refused {
            InvokeError::Unknown(name) => Self {
                status: StatusCode::NOT_FOUND,
                kind: "ResourceNotFoundException",
                body: json!({ "Type": "User", "Message": format!("Function not found: {}", function_arn(&name)) }),
            },
            InvokeError::Throttled(reason) => Self {
                status: StatusCode::TOO_MANY_REQUESTS,
                kind: "TooManyRequestsException",
                body: json!({ "Type": "User", "Reason": reason, "message": "Rate Exceeded." }),
            },
            InvokeError::NoEnvironment(why) => Self {
                status: StatusCode::BAD_GATEWAY,
                kind: "InvalidRuntimeException",
                body: json!({ "Type": "User", "Message": why }),
            },
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(self.body)).into_response();
        response.headers_mut().insert("x-amzn-errortype", HeaderValue::from_static(self.kind));
        response
    }
}
