//! `howk`: reads the command line and the settings, then serves until a signal stops it, or plays the demo.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use howk::cli::{Cli, Command, Serve};
use howk::screen::{Screen, Storage};
use howk::{configure, demo};
use server::system::{self, Backend, Sending, System};
use server::telemetry::{self, LogStyle, RenderMetrics};
use server::{Bound, Server, services, stop_signal};
use settings::{Environment, ProcessEnvironment, Settings};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The exit code for bad settings: `EX_CONFIG` of sysexits.
const BAD_SETTINGS: u8 = 78;

fn main() -> ExitCode {
    let Cli { command } = Cli::parse();
    if command.common().help_settings {
        return exit(print(settings::reference().trim_end()));
    }
    match configure::read(&command, ProcessEnvironment.variables()) {
        Ok(settings) if command.common().print_settings => {
            let lines: Vec<String> = settings.effective().iter().map(ToString::to_string).collect();
            exit(print(&lines.join("\n")))
        }
        Ok(settings) => exit(run(&command, &settings)),
        Err(mistakes) => {
            complain(&format!("howk: {mistakes}"));
            ExitCode::from(BAD_SETTINGS)
        }
    }
}

fn exit(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("howk: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn print(text: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

fn complain(text: &str) {
    // A failure to write is ignored: where standard error is closed, the exit code still reports the error.
    writeln!(std::io::stderr(), "{text}").ok();
}

#[tokio::main]
async fn run(command: &Command, settings: &Settings) -> anyhow::Result<()> {
    telemetry::start_logging(&settings.log, LogStyle::of_stderr(&settings.log))?;
    let metrics = telemetry::start_metrics()?;
    if let Some(ignored) = settings.ignored() {
        tracing::warn!("settings that are set and have no effect: {ignored}");
    }
    match command {
        Command::Serve(options) => Box::pin(serve(options, settings, metrics)).await,
        Command::Demo(_) => Box::pin(play(settings, metrics)).await,
    }
}

/// Serves until a signal stops it.
async fn serve(options: &Serve, settings: &Settings, metrics: RenderMetrics) -> anyhow::Result<()> {
    let (storage, backend) = match options.redis {
        Some(_) => (Storage::Services, services::connect(settings).await?),
        None => (Storage::Memory, Backend::in_memory(&system::memory_limits(settings)?).0),
    };
    let sending = if options.dry { Sending::Dry } else { Sending::Real };
    let system = System::new(settings, backend, sending)?;
    let bound = Bound::new(settings).await?;
    let screen = Screen::new(settings, (storage, sending), &bound.url);
    if std::io::stderr().is_terminal() {
        complain(&screen.to_string());
    } else {
        screen.log();
    }
    let server = bound.serve(&system, settings, metrics).await?;
    let stopped = stop_signal().await;
    shut_down(server, &system, stopped).await
}

/// Plays the demo on a store that it may wipe.
async fn play(settings: &Settings, metrics: RenderMetrics) -> anyhow::Result<()> {
    let (backend, store) = Backend::in_memory(&system::memory_limits(settings)?);
    let system = System::new(settings, backend, Sending::Real)?;
    let server = Server::start(&system, settings, metrics).await?;
    let played = tokio::select! {
        played = demo::play(&server.url, &system, &store) => played,
        stopped = stop_signal() => stopped.and_then(|()| anyhow::bail!("the demo was stopped")),
    };
    shut_down(server, &system, played).await
}

/// Ends the server gracefully, or at once when another signal comes.
async fn shut_down(server: Server, system: &System, outcome: anyhow::Result<()>) -> anyhow::Result<()> {
    tokio::select! {
        () = server.shut_down(system) => outcome,
        again = stop_signal() => again.and_then(|()| anyhow::bail!("stopped at once, at the second signal")),
    }
}
