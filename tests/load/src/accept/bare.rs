//! The bare side: reads the body, parses it with serde, leaves the payload raw, answers 202; with Kafka, sends one record
//! for each webhook and awaits the acknowledgements first.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::loops::Records;

const ACCEPTED: &str = "{\"webhook_id\":\"wh_00000000000000000000000000\",\"status\":\"pending\"}";

#[derive(Debug, Deserialize)]
struct Single<'a> {
    #[serde(borrow)]
    endpoint: Cow<'a, str>,
    #[serde(borrow)]
    payload: &'a RawValue,
}

#[derive(Debug, Deserialize)]
struct Batch<'a> {
    #[serde(borrow)]
    webhooks: Vec<Single<'a>>,
}

/// Takes webhooks: sends each to Kafka, or drops it without `records`.
struct Sink {
    records: Option<Records>,
    next: AtomicU32,
}

impl Sink {
    /// Sends webhooks together; `None` when one is not acknowledged.
    async fn take(&self, webhooks: &[Single<'_>]) -> Option<()> {
        let Some(records) = &self.records else { return Some(()) };
        let sent = webhooks.iter().map(|webhook| {
            let n = self.next.fetch_add(1, Ordering::Relaxed);
            records.send(n, webhook.payload.get().as_bytes())
        });
        futures::future::try_join_all(sent).await.ok().map(drop)
    }
}

pub(super) fn router(records: Option<Records>) -> Router {
    Router::new()
        .route("/webhooks/{config}/enqueue", post(single))
        .route("/webhooks/{config}/enqueue/batch", post(batch))
        .with_state(Arc::new(Sink { records, next: AtomicU32::new(0) }))
}

async fn single(State(sink): State<Arc<Sink>>, body: Bytes) -> Response {
    match serde_json::from_slice::<Single<'_>>(&body) {
        Ok(webhook) if is_whole(&webhook) => match sink.take(&[webhook]).await {
            Some(()) => accepted(ACCEPTED.to_owned()),
            None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        },
        Ok(_) | Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

async fn batch(State(sink): State<Arc<Sink>>, body: Bytes) -> Response {
    match serde_json::from_slice::<Batch<'_>>(&body) {
        Ok(batch) if batch.webhooks.iter().all(is_whole) => {
            if sink.take(&batch.webhooks).await.is_none() {
                return StatusCode::SERVICE_UNAVAILABLE.into_response();
            }
            let answers = vec![ACCEPTED; batch.webhooks.len()].join(",");
            let count = batch.webhooks.len();
            accepted(format!("{{\"webhooks\":[{answers}],\"accepted\":{count},\"failed\":0}}"))
        }
        Ok(_) | Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

/// Reads what was parsed, so that the compiler can't leave the parsing out.
fn is_whole(webhook: &Single<'_>) -> bool {
    !webhook.endpoint.is_empty() && !webhook.payload.get().is_empty()
}

fn accepted(body: String) -> Response {
    (StatusCode::ACCEPTED, [(CONTENT_TYPE, "application/json")], body).into_response()
}
