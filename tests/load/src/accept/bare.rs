//! The bare side: reads the body, parses it with serde, leaves the payload raw, answers 202.

use std::borrow::Cow;

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde::Deserialize;
use serde_json::value::RawValue;

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

pub(super) fn router() -> Router {
    Router::new()
        .route("/webhooks/{config}/enqueue", post(single))
        .route("/webhooks/{config}/enqueue/batch", post(batch))
}

async fn single(body: Bytes) -> Response {
    match serde_json::from_slice::<Single<'_>>(&body) {
        Ok(webhook) if is_whole(&webhook) => accepted(ACCEPTED.to_owned()),
        Ok(_) | Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

async fn batch(body: Bytes) -> Response {
    match serde_json::from_slice::<Batch<'_>>(&body) {
        Ok(batch) if batch.webhooks.iter().all(is_whole) => {
            let answers = vec![ACCEPTED; batch.webhooks.len()].join(",");
            let count = batch.webhooks.len();
            accepted(format!("{{\"webhooks\":[{answers}],\"accepted\":{count},\"failed\":0}}"))
        }
        Ok(_) | Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

/// Looks at what was parsed, so that parsing is not for nothing.
fn is_whole(webhook: &Single<'_>) -> bool {
    !webhook.endpoint.is_empty() && !webhook.payload.get().is_empty()
}

fn accepted(body: String) -> Response {
    (StatusCode::ACCEPTED, [(CONTENT_TYPE, "application/json")], body).into_response()
}
