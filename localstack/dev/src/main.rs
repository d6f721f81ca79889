//! `howk-dev`: reads the command line and the settings, serves until asked to stop.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use howk_dev::cli::Cli;
use howk_dev::server::{Server, asked_to_stop};
use howk_dev::system::{Backend, Sending, System};
use howk_dev::{configure, demo, telemetry};
use in_memory::{MemoryLimits, MemoryStore};
use settings::{Environment, ProcessEnvironment, Settings};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What bad settings end with: `EX_CONFIG` of sysexits.
const BAD_SETTINGS: u8 = 78;

fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.help_settings {
        return exit(writeln!(std::io::stdout(), "{}", settings::reference().trim_end()).map_err(Into::into));
    }
    match configure::read(&cli, ProcessEnvironment.variables()) {
        Ok(settings) => exit(run(&cli, &settings)),
        Err(mistakes) => {
            complain(&format!("howk-dev: {mistakes}"));
            ExitCode::from(BAD_SETTINGS)
        }
    }
}

fn exit(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("howk-dev: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn complain(text: &str) {
    // Where even standard error is closed, the exit code still tells.
    writeln!(std::io::stderr(), "{text}").ok();
}

#[tokio::main]
async fn run(cli: &Cli, settings: &Settings) -> anyhow::Result<()> {
    telemetry::start_logging(&settings.log)?;
    let metrics = telemetry::start_metrics()?;
    let shown: Vec<String> = settings.effective().iter().map(ToString::to_string).collect();
    tracing::info!("settings:\n  {}", shown.join("\n  "));
    if let Some(ignored) = settings.ignored() {
        tracing::warn!("settings that are set and steer nothing: {ignored}");
    }
    let (backend, store) = backend(cli, settings).await?;
    let system = System::new(settings, backend, if cli.dry { Sending::Dry } else { Sending::Real })?;
    let server = Server::start(&system, settings, metrics).await?;
    tracing::info!("serving {}", server.url);
    let outcome = serve(store.filter(|_| cli.demo), &system, &server.url).await;
    tokio::select! {
        () = server.shut_down(&system) => outcome,
        again = asked_to_stop() => again.and_then(|()| anyhow::bail!("stopped at once, at the second signal")),
    }
}

/// Serves until asked to stop, or plays the demo on the store that it may lose.
async fn serve(stage: Option<Arc<MemoryStore>>, system: &System, url: &str) -> anyhow::Result<()> {
    let Some(store) = stage else { return asked_to_stop().await };
    tokio::select! {
        played = demo::play(url, system, &store) => played,
        stopped = asked_to_stop() => stopped.and_then(|()| anyhow::bail!("the demo was stopped")),
    }
}

async fn backend(cli: &Cli, settings: &Settings) -> anyhow::Result<(Backend, Option<Arc<MemoryStore>>)> {
    if cli.redis.is_some() {
        return Ok((services(settings).await?, None));
    }
    let (backend, store) = Backend::in_memory(&limits(settings)?);
    Ok((backend, Some(store)))
}

#[cfg(feature = "services")]
async fn services(settings: &Settings) -> anyhow::Result<Backend> {
    howk_dev::services::connect(settings).await
}

#[cfg(not(feature = "services"))]
#[expect(clippy::unused_async, reason = "the build with services waits for them")]
async fn services(_settings: &Settings) -> anyhow::Result<Backend> {
    anyhow::bail!("this build knows no Kafka and Redis: build it with --features services")
}

fn limits(settings: &Settings) -> anyhow::Result<MemoryLimits> {
    let memory = &settings.memory;
    Ok(MemoryLimits {
        bytes_max: memory.max_bytes,
        finished_max: usize::try_from(memory.finished_webhooks)?,
        dead_letters_max: usize::try_from(memory.dead_letters)?,
        partitions: memory.partitions,
    })
}
