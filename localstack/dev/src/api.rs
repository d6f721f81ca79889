//! The API over a system, by the settings.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::Router;
use axum::http::StatusCode;
use http_api::{Api, Health};
use settings::Settings;
use tower_http::timeout::{RequestBodyTimeoutLayer, TimeoutLayer};

use crate::system::System;
use crate::telemetry::RenderMetrics;

/// Builds the router. `ready` is what `/ready` tells, once log and store are well.
///
/// # Errors
/// A key that cannot be used.
pub fn router(
    system: &System,
    settings: &Settings,
    metrics: RenderMetrics,
    ready: Arc<AtomicBool>,
) -> anyhow::Result<Router> {
    let backend = &system.backend;
    let router = http_api::router(Api {
        enqueue: system.enqueue.clone(),
        statuses: Arc::clone(&backend.statuses),
        stats: Arc::clone(&backend.stats),
        dead_letters: system.dead_letters.clone(),
        endpoints: system.endpoints.clone(),
        health: Health { recovery: Arc::clone(&backend.recovery), log: Arc::clone(&backend.log), ready },
        clock: Arc::clone(&system.release.clock),
        limits: wiring::api::limits(settings),
        auth: wiring::api::auth(settings)?,
        metrics,
    });
    let api = &settings.api;
    Ok(router
        .layer(RequestBodyTimeoutLayer::new(api.read_timeout))
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, api.read_timeout + api.write_timeout)))
}
