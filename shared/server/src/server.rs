//! The server: the API, the background tasks, and their graceful shutdown.

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

/// How long a server over an in-memory log, which ends with the process, goes on delivering what is pending when it stops:
/// as long as the slowest request may take by default (`delivery.timeout`).
const GRACE: Duration = Duration::from_secs(30);
/// How often a server that stops checks what is still pending.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A running server.
#[derive(Debug)]
pub struct Server {
    /// The URL of the API, with the port that was bound.
    pub url: String,
    background: Background,
    ready: Arc<AtomicBool>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

/// The bound address of a server that does not serve yet: callers wait until it does.
#[derive(Debug)]
pub struct Bound {
    /// The URL of the API, with the port that was bound.
    pub url: String,
    listener: TcpListener,
}

impl Bound {
    /// Binds `api.port` on `api.host`.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn new(settings: &Settings) -> anyhow::Result<Self> {
        let (host, port) = (settings.api.host.as_str(), settings.api.port);
        let listener = TcpListener::bind((host, port)).await.with_context(|| {
            format!("port {port} of {host} cannot be used; choose another port with --port (0 picks a free one)")
        })?;
        Ok(Self { url: format!("http://{}", listener.local_addr()?), listener })
    }

    /// Starts the API and the background tasks.
    ///
    /// # Errors
    /// When a setting does not fit this machine, or the port for metrics cannot be bound.
    pub async fn serve(self, system: &System, settings: &Settings, metrics: RenderMetrics) -> anyhow::Result<Server> {
        let Self { url, listener } = self;
        let ready = Arc::new(AtomicBool::new(true));
        let router = api::router(system, settings, Arc::clone(&metrics), Arc::clone(&ready))?;
        let background = Background::start(system, settings)?;
        let stop = CancellationToken::new();
        let (stopped, mut tasks) = (stop.clone().cancelled_owned(), JoinSet::new());
        // An answer fits one packet: waiting to fill it, as TCP does without this, only delays the answer.
        let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
        tasks.spawn(async move {
            if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(stopped).into_future().await {
                tracing::error!(%error, "the API stopped serving");
            }
        });
        if settings.metrics.enabled {
            tasks.spawn(serve_metrics(settings.metrics.port, metrics).await?);
        }
        Ok(Server { url, background, ready, stop, tasks })
    }
}

impl Server {
    /// Binds `api.port` on `api.host` and starts the API and the background tasks.
    ///
    /// # Errors
    /// When an address cannot be bound, or a setting does not fit this machine.
    pub async fn start(system: &System, settings: &Settings, metrics: RenderMetrics) -> anyhow::Result<Self> {
        Bound::new(settings).await?.serve(system, settings, metrics).await
    }

    /// Stops accepting webhooks, delivers what is pending if the log ends with the process, finishes the deliveries under
    /// way, and logs how many webhooks still wait.
    pub async fn shut_down(mut self, system: &System) {
        tracing::info!(
            "stopping: howk accepts nothing more and finishes the deliveries under way; a second signal ends it at once"
        );
        self.ready.store(false, Ordering::Relaxed);
        self.stop.cancel();
        let clock = Arc::clone(&system.release.clock);
        let give_up_at = clock.now().plus(GRACE);
        let is_lost = system.backend.lifetime == Lifetime::Process;
        while is_lost && pending(&*system.backend.log).await > 0 && clock.now() < give_up_at {
            clock.sleep(CHECK_INTERVAL).await;
        }
        self.background.shut_down(system).await;
        self.tasks.abort_all();
        let left = (pending(&*system.backend.log).await, waiting(system).await);
        log_what_waits(left, system.backend.lifetime);
    }
}

fn log_what_waits((unsettled, waiting): (u64, u64), lifetime: Lifetime) {
    if unsettled + waiting == 0 {
        tracing::info!("every accepted webhook is delivered or dead-lettered");
    } else if lifetime == Lifetime::Lasting {
        tracing::info!(unsettled, waiting, "these webhooks wait for the other servers, or for the next start");
    } else {
        tracing::warn!(unsettled, waiting, "these webhooks are lost with the process: howk runs in memory");
    }
}

/// Serves metrics on a port of their own, on the loopback interface, for a scraper that has no API key.
async fn serve_metrics(port: u16, metrics: RenderMetrics) -> anyhow::Result<impl Future<Output = ()>> {
    let listener = TcpListener::bind(("127.0.0.1", port))
        .await
        .with_context(|| format!("port {port} cannot be used for metrics; choose another one with metrics.port"))?;
    let router = http_api::metrics_router(metrics);
    Ok(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(%error, "the metrics stopped being served");
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
/// When the process cannot listen for signals.
pub async fn stop_signal() -> anyhow::Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
    }
    Ok(())
}
