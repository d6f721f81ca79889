//! The HTTP API over a system.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use http_api::{Api, Health};
use settings::Settings;
use tower_http::timeout::RequestBodyTimeoutLayer;

use crate::system::System;
use crate::telemetry::RenderMetrics;

/// Builds the router. While `ready` is false, `/ready` answers 503 even if the log and the store work: a server that stops
/// must get no new requests.
///
/// # Errors
/// An API key that cannot be used.
pub fn router(
    system: &System,
    settings: &Settings,
    metrics: RenderMetrics,
    ready: Arc<AtomicBool>,
) -> anyhow::Result<Router> {
    let backend = &system.backend;
    let router = http_api::router(Api {
        enqueue: system.enqueue.clone(),
        statuses: Arc::clone(&backend.stores.statuses),
        stats: Arc::clone(&backend.stores.stats),
        dead_letters: system.dead_letters.clone(),
        endpoints: system.endpoints.clone(),
        health: Health { recovery: Arc::clone(&backend.stores.recovery), log: Arc::clone(&backend.log), ready },
        clock: Arc::clone(&system.release.clock),
        limits: wiring::api::limits(settings),
        auth: wiring::api::auth(settings)?,
        metrics,
    });
    let api = &settings.api;
    let limit = api.read_timeout + api.write_timeout;
    let in_time = move |request: Request, next: Next| async move {
        tokio::time::timeout(limit, next.run(request)).await.unwrap_or_else(|_| http_api::late())
    };
    Ok(router.layer(RequestBodyTimeoutLayer::new(api.read_timeout)).layer(middleware::from_fn(in_time)))
}
