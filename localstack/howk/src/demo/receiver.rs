//! The demo's receiver: one path for each way in which endpoints behave.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header::RETRY_AFTER};
use axum::routing::post;
use tokio::net::TcpListener;

/// The Retry-After of the throttling endpoint, in seconds.
const RETRY_AFTER_SECONDS: u16 = 3;

/// One endpoint of the demo and the state that its webhook has to end in.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) url: String,
    pub(super) max_attempts: u32,
    /// The state its webhook ends in, as the API names it.
    pub(super) ends: &'static str,
}

/// The demo's endpoints, served in the background of the runtime.
pub(super) struct Receiver {
    pub(super) scenes: Vec<Scene>,
    pub(super) serve: tokio::task::JoinSet<()>,
}

impl Receiver {
    /// Starts the receiver on a free port of the loopback interface.
    pub(super) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let base = format!("http://{}", listener.local_addr()?);
        let closed = closed_port().await?;
        let mut serve = tokio::task::JoinSet::new();
        serve.spawn(async move {
            if let Err(error) = axum::serve(listener, router()).await {
                tracing::error!(%error, "the demo's receiver stopped serving");
            }
        });
        Ok(Self { scenes: scenes(&base, &closed), serve })
    }
}

/// A URL at a port that no process listens on, so that connections to it are refused.
async fn closed_port() -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    Ok(format!("http://{}/down", listener.local_addr()?))
}

fn scenes(base: &str, closed: &str) -> Vec<Scene> {
    let scene =
        |name, about, max_attempts, ends| Scene { name, about, url: format!("{base}/{name}"), max_attempts, ends };
    let mut down = scene("down", "refuses every connection", 3, "exhausted");
    closed.clone_into(&mut down.url);
    vec![
        scene("succeeds", "answers 200 at once", 3, "delivered"),
        scene("fails-twice", "answers 500 twice, then 200", 5, "delivered"),
        scene("throttles", "answers 429 with Retry-After: 3, then 200", 5, "delivered"),
        scene("hangs", "never answers", 2, "exhausted"),
        scene("refuses", "answers 400: not worth a retry", 5, "exhausted"),
        down,
    ]
}

fn router() -> Router {
    let (failures, throttled) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let fails_twice = async move || {
        if failures.fetch_add(1, Ordering::Relaxed) < 2 { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK }
    };
    let throttles_once = async move || {
        if throttled.fetch_add(1, Ordering::Relaxed) > 0 {
            return (StatusCode::OK, HeaderMap::new());
        }
        let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS))]);
        (StatusCode::TOO_MANY_REQUESTS, headers)
    };
    Router::new()
        .route("/succeeds", post(async || StatusCode::OK))
        .route("/fails-twice", post(fails_twice))
        .route("/throttles", post(throttles_once))
        .route("/hangs", post(async || tokio::time::sleep(Duration::from_mins(10)).await))
        .route("/refuses", post(async || StatusCode::BAD_REQUEST))
}
