//! The one process: API in front, everything else beside it, and an orderly end.

use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use axum::serve::ListenerExt;
use delivery::ports::log::Log;
use domain::Topic;
use settings::Settings;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::api;
use crate::background::Background;
use crate::system::{Lifetime, System};
use crate::telemetry::RenderMetrics;

/// How long what is pending may take to be worked off at the end.
const GRACE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A running server.
#[derive(Debug)]
pub struct Server {
    /// Where the API is served, with the port that was found.
    pub url: String,
    background: Background,
    ready: Arc<AtomicBool>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Server {
    /// Binds the port on the loopback interface and starts everything.
    ///
    /// # Errors
    /// When the port is taken, or a setting does not fit this machine.
    pub async fn start(system: &System, settings: &Settings, metrics: RenderMetrics) -> anyhow::Result<Self> {
        let port = settings.api.port;
        let listener = TcpListener::bind(("127.0.0.1", port)).await.with_context(|| {
            format!("port {port} cannot be used; choose another one with --port (0 picks a free one)")
        })?;
        let url = format!("http://{}", listener.local_addr()?);
        let ready = Arc::new(AtomicBool::new(true));
        let router = api::router(system, settings, Arc::clone(&metrics), Arc::clone(&ready))?;
        let background = Background::start(system, settings)?;
        let stop = CancellationToken::new();
        let (asked, mut tasks) = (stop.clone().cancelled_owned(), JoinSet::new());
        // An answer is small: waiting for more of it would only delay it.
        let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
        tasks.spawn(async move {
            if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(asked).into_future().await {
                tracing::error!(%error, "the API ended");
            }
        });
        if settings.metrics.enabled {
            tasks.spawn(serve_metrics(settings.metrics.port, metrics).await?);
        }
        Ok(Self { url, background, ready, stop, tasks })
    }

    /// Stops accepting, works off what is pending where it would be lost otherwise, finishes what is under way, and says
    /// what still waits.
    pub async fn shut_down(mut self, system: &System) {
        tracing::info!(
            "stopping: nothing more is accepted, what is under way is finished; a second signal ends it at once"
        );
        self.ready.store(false, Ordering::Relaxed);
        self.stop.cancel();
        let clock = Arc::clone(&system.release.clock);
        let give_up_at = clock.now().plus(GRACE);
        let is_lost = system.backend.lifetime == Lifetime::Process;
        while is_lost && pending(&*system.backend.log).await > 0 && clock.now() < give_up_at {
            clock.sleep(LOOK_EVERY).await;
        }
        self.background.shut_down(system).await;
        self.tasks.abort_all();
        let left = (pending(&*system.backend.log).await, waiting(system).await);
        say_what_is_left(left, system.backend.lifetime);
    }
}

fn say_what_is_left((unsettled, waiting): (u64, u64), lifetime: Lifetime) {
    if unsettled + waiting == 0 {
        tracing::info!("everything accepted is delivered or dead-lettered");
    } else if lifetime == Lifetime::Beyond {
        tracing::info!(unsettled, waiting, "these webhooks are left to the other servers, or to the next start");
    } else {
        tracing::warn!(unsettled, waiting, "these webhooks end with the process: their log is in memory");
    }
}

/// Metrics on a port of their own, for a scraper that holds no API key.
async fn serve_metrics(port: u16, metrics: RenderMetrics) -> anyhow::Result<impl Future<Output = ()>> {
    let listener = TcpListener::bind(("127.0.0.1", port))
        .await
        .with_context(|| format!("port {port} cannot be used for metrics; choose another one with metrics.port"))?;
    let router = http_api::metrics_router(metrics);
    Ok(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(%error, "the metrics ended");
        }
    })
}

async fn pending(log: &dyn Log) -> u64 {
    log.lag(Topic::Pending).await.unwrap_or_default() + log.lag(Topic::Slow).await.unwrap_or_default()
}

async fn waiting(system: &System) -> u64 {
    system
        .backend
        .stores
        .schedule
        .depth(system.release.clock.now())
        .await
        .map(|depth| depth.waiting)
        .unwrap_or_default()
}

/// Waits for SIGINT or SIGTERM.
///
/// # Errors
/// When signals cannot be listened for.
pub async fn asked_to_stop() -> anyhow::Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
    }
    Ok(())
}
