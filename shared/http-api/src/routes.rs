//! The routes, each with its documentation; the router and the document are made from the same list.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::Api;
use crate::auth::Caller;
use crate::problem::Problem;

mod dead_letters;
mod documented;
mod endpoints;
mod health;
mod stats;
mod webhooks;

type MetricsText = Arc<dyn Fn() -> String + Send + Sync>;

#[derive(OpenApi)]
#[openapi(
    info(title = "howk", description = "Sends webhooks: accepted once, delivered until it is done or explained."),
    security(("bearer" = []), ("api_key" = [])),
    modifiers(&Keys)
)]
struct Document;

struct Keys;

impl Modify for Keys {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let bearer = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
        let header = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("X-API-Key")));
        let components = document.components.get_or_insert_default();
        components.schemas.extend(documented::schemas());
        components.add_security_scheme("bearer", bearer);
        components.add_security_scheme("api_key", header);
    }
}

/// The router of the HTTP API.
pub fn router(api: Api) -> Router {
    let (router, _) = documented_routes().split_for_parts();
    router
        .fallback(async || Problem::not_found("there is no such route"))
        .method_not_allowed_fallback(async || Problem::method_not_allowed())
        .layer(DefaultBodyLimit::max(api.limits.body_bytes_max))
        .with_state(Arc::new(api))
}

/// A router of `/metrics` alone, which asks for no key: for a listener of its own.
pub fn metrics_router(metrics: MetricsText) -> Router {
    Router::new().route("/metrics", get(async move || metrics_text(&metrics)))
}

/// The OpenAPI 3.1 document of [`router`], as JSON.
pub fn document() -> &'static str {
    static DOCUMENT: OnceLock<String> = OnceLock::new();
    // Made on the first request, so that a cold start does not pay for it. Writing it cannot fail.
    DOCUMENT.get_or_init(|| documented_routes().into_openapi().to_json().unwrap_or_default())
}

fn documented_routes() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::with_openapi(Document::openapi())
        .merge(webhooks::routes())
        .merge(stats::routes())
        .merge(dead_letters::routes())
        .merge(endpoints::routes())
        .merge(health::routes())
        .routes(routes!(metrics))
        .routes(routes!(openapi))
}

/// The metrics, as Prometheus text. Needs a key that covers every config id.
#[utoipa::path(
    get, path = "/metrics", tag = "operation",
    responses((status = 200, body = String, content_type = "text/plain", description = "Every metric."), documented::Guarded)
)]
async fn metrics(State(api): State<Arc<Api>>, caller: Caller) -> Result<Response, Problem> {
    caller.may_operate()?;
    Ok(metrics_text(&api.metrics))
}

fn metrics_text(metrics: &MetricsText) -> Response {
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    (StatusCode::OK, [(CONTENT_TYPE, text)], metrics()).into_response()
}

/// This document.
#[utoipa::path(
    get, path = "/openapi.json", tag = "operation", security(()),
    responses((status = 200, body = serde_json::Value, description = "This document."))
)]
async fn openapi() -> Response {
    let json = HeaderValue::from_static("application/json");
    (StatusCode::OK, [(CONTENT_TYPE, json)], document()).into_response()
}
