//! `howk-local`: reads the command line and runs its verb.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Mutex;

use clap::Parser;
use howk_local::cli::{Cli, Running, Up, Verb};
use howk_local::local::stop::Ran;
use howk_local::local::up::{BadSettings, LocalStack, log_file};
use howk_local::local::{services, stop};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// The exit code for bad settings: `EX_CONFIG` of sysexits.
const BAD_SETTINGS: u8 = 78;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.verb {
        Verb::Up(options) => up(options),
        Verb::Down(running) => down(*running),
        Verb::Status(running) => status(*running),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&format!("howk-local: {error:#}"));
            if error.is::<BadSettings>() { ExitCode::from(BAD_SETTINGS) } else { ExitCode::FAILURE }
        }
    }
}

fn print_error(text: &str) {
    // When standard error is closed, the exit code alone must do.
    writeln!(std::io::stderr(), "{text}").ok();
}

#[tokio::main]
async fn up(options: &Up) -> anyhow::Result<()> {
    let shows = options.view && std::io::stderr().is_terminal();
    // While the view is shown the log goes to a file, because it would overwrite the picture.
    start_logging(if shows { Some(log_file()?) } else { None })?;
    let asked = CancellationToken::new();
    let stack = LocalStack { options, shows, asked: asked.clone() };
    tokio::select! {
        result = stack.run() => result,
        again = stop::signals(asked) => again,
    }
}

#[tokio::main]
async fn down(running: Running) -> anyhow::Result<()> {
    let ran = stop::running(running.lambda_port).await?;
    if ran == Ran::Nothing {
        services::must_be_here(running.lambda_port)?;
    }
    services::down().await
}

#[tokio::main]
async fn status(running: Running) -> anyhow::Result<()> {
    let text = stop::status(running.lambda_port).await?;
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}

fn start_logging(file: Option<File>) -> anyhow::Result<()> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter);
    let installed = match file {
        Some(file) => builder.with_ansi(false).with_writer(Mutex::new(file)).try_init(),
        None => builder.with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr).try_init(),
    };
    installed.map_err(|error| anyhow::anyhow!("logging could not be started: {error}"))
}
