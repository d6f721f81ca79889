//! An Invoke API that answers by a script and records its requests: the part of an emulator that an event source, a
//! schedule or a front uses.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use howk_local::invoker::Invoker;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::rig::until;

/// A scripted reply.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// An answer of the function.
    Answer(String),
    /// An error of the function.
    Error,
    /// No concurrency is left.
    Throttle,
    /// The event is too large.
    TooLarge,
    /// An answer that waits for [`Emulator::let_go`].
    Held,
}

/// A request that was received.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) function: String,
    /// The header `X-Amz-Invocation-Type`.
    pub(crate) kind: String,
    pub(crate) event: Value,
    pub(crate) bytes: usize,
}

/// The scripted Invoke API.
pub(crate) struct Emulator {
    pub(crate) invoker: Invoker,
    script: Arc<Script>,
    _server: JoinSet<()>,
}

struct Script {
    /// The next replies; the last one is repeated.
    replies: Mutex<VecDeque<Reply>>,
    asked: Mutex<Vec<Asked>>,
    held: Semaphore,
}

impl Emulator {
    /// Gives these replies one after the other, and repeats the last one. Without any it answers that every record was
    /// handled.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let invoker = Invoker::new(format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let script = Arc::new(Script {
            replies: Mutex::new(replies.into_iter().collect()),
            asked: Mutex::default(),
            held: Semaphore::new(0),
        });
        let routes = Router::new()
            .route("/2015-03-31/functions/{name}/invocations", post(answer))
            .with_state(Arc::clone(&script));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { invoker, script, _server: server }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.script.asked.lock().clone()
    }

    /// Waits until it got this many requests, and returns all of them.
    pub(crate) async fn asked_times(&self, times: usize) -> Vec<Asked> {
        until(&format!("it is asked {times} times"), async || self.script.asked.lock().len() >= times).await;
        self.asked()
    }

    /// Checks that no further request comes within half a second, in which a wrong one would.
    pub(crate) async fn stays_at(&self, times: usize) {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let asked = self.asked();
        assert_eq!(asked.len(), times, "{asked:?}");
    }

    /// Lets one held answer go.
    pub(crate) fn let_go(&self) {
        self.script.held.add_permits(1);
    }
}

async fn answer(State(script): State<Arc<Script>>, Path(function): Path<String>, request: Request) -> Response {
    let kind = request.headers().get("x-amz-invocation-type").unwrap().to_str().unwrap().to_owned();
    let body = to_bytes(request.into_body(), usize::MAX).await.unwrap();
    let event = serde_json::from_slice(&body).unwrap();
    script.asked.lock().push(Asked { function, kind, event, bytes: body.len() });
    let reply = {
        let mut replies = script.replies.lock();
        let next = if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() };
        next.unwrap_or(Reply::Answer(String::new()))
    };
    match reply {
        Reply::Answer(answer) => Bytes::from(answer).into_response(),
        Reply::Error => ([("x-amz-function-error", "Unhandled")], "{}").into_response(),
        Reply::Throttle => StatusCode::TOO_MANY_REQUESTS.into_response(),
        Reply::TooLarge => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        Reply::Held => {
            script.held.acquire().await.unwrap().forget();
            StatusCode::OK.into_response()
        }
    }
}

impl Emulator {
    /// The same emulator with another client.
    pub(crate) fn with(self, invoker: Invoker) -> Self {
        Self { invoker, ..self }
    }
}
