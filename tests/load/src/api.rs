//! howk's API over a system, as howk-dev serves it, without keys.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use axum::Router;
use howk_dev::system::System;
use howk_dev::telemetry::RenderMetrics;
use http_api::{Api, ApiLimits, Auth, Health};
use settings::Settings;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The router of everything.
///
/// # Errors
/// When a setting does not fit this machine.
pub(crate) fn router(system: &System, settings: &Settings, metrics: RenderMetrics) -> anyhow::Result<Router> {
    let backend = &system.backend;
    Ok(http_api::router(Api {
        enqueue: system.enqueue.clone(),
        statuses: Arc::clone(&backend.statuses),
        stats: Arc::clone(&backend.stats),
        dead_letters: system.dead_letters.clone(),
        endpoints: system.endpoints.clone(),
        health: Health {
            recovery: Arc::clone(&backend.recovery),
            log: Arc::clone(&backend.log),
            ready: Arc::new(AtomicBool::new(true)),
        },
        clock: Arc::clone(&system.release.clock),
        limits: ApiLimits {
            body_bytes_max: usize::try_from(settings.api.max_request_size)?,
            default_max_attempts: settings.retry.max_attempts,
        },
        auth: Auth::None,
        metrics,
    }))
}

/// A router on a port of 127.0.0.1, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Served {
    /// The port.
    pub(crate) port: u16,
    _server: JoinSet<()>,
}

impl Served {
    /// Serves a router on a free port.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) async fn start(router: Router) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no free port")?;
        let port = listener.local_addr()?.port();
        let mut server = JoinSet::new();
        server.spawn(async move {
            axum::serve(listener, router).await.ok();
        });
        Ok(Self { port, _server: server })
    }
}
