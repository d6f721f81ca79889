//! The HTTP front: an HTTP API with one integration, payload format 2.0 in and out.
//!
//! Every request goes to one function. `/ready` answers 200 only when that function does and nothing is missing that a
//! webhook needs to be delivered.

mod answer;
mod event;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use delivery::ports::time::{Clock, Random};
use serde_json::json;

use self::event::Arrived;
use crate::invoker::{Invoked, Invoker};
use crate::lambda::SYNC_BYTES_MAX;

/// Bytes of a request's body, at most.
const BODY_BYTES_MAX: usize = 10 * 1024 * 1024;
/// How long a function's answer may take: API Gateway's limit.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The parts and settings of the front.
pub struct Front {
    /// The function that answers.
    pub function: String,
    /// How functions are invoked.
    pub invoker: Invoker,
    /// Lists what keeps a webhook from being delivered, for people; empty when nothing does.
    pub missing: Box<dyn Fn() -> Vec<String> + Send + Sync>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
}

/// The routes: every path goes to the function.
pub fn router(front: Front) -> Router {
    Router::new().fallback(answer).with_state(Arc::new(front))
}

async fn answer(
    State(front): State<Arc<Front>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    if request.uri().path() == "/ready" {
        let missing = (front.missing)();
        if !missing.is_empty() {
            let body = json!({ "status": "not ready", "error": missing.join("; ") });
            return (StatusCode::SERVICE_UNAVAILABLE, axum::Json(body)).into_response();
        }
    }
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, BODY_BYTES_MAX).await else { return too_large() };
    let arrived = Arrived { at: front.clock.now(), bits: front.random.bits(), peer };
    let (event, trace) = (event::of(&parts, &body, &arrived), event::trace(&parts.headers, &arrived));
    if event.len() > SYNC_BYTES_MAX {
        return too_large();
    }
    tokio::select! {
        invoked = front.invoker.invoke_in_trace(&front.function, &trace, event) => answered(invoked),
        () = front.clock.sleep(ANSWER_TIMEOUT) => problem(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"),
    }
}

fn answered(invoked: Invoked) -> Response {
    match invoked {
        Invoked::Answered(payload) => answer::read(&payload).unwrap_or_else(|why| failed(&why)),
        Invoked::FunctionError(error) => failed(&String::from_utf8_lossy(&error)),
        Invoked::TooLarge => too_large(),
        Invoked::Throttled | Invoked::Unavailable(_) => {
            problem(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable")
        }
    }
}

fn failed(why: &str) -> Response {
    tracing::warn!(why, "a request failed");
    problem(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")
}

fn too_large() -> Response {
    problem(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large")
}

fn problem(status: StatusCode, text: &str) -> Response {
    (status, axum::Json(json!({ "message": text }))).into_response()
}
