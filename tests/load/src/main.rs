//! `howk-load`: measures howk beside bare loops that do the same I/O, in the same run, on loopback only.
//!
//! Every figure is relative: another or a busier machine changes both sides alike. Receivers and generators are
//! children of this process, so that its CPU time is that of howk (or of the bare loop) alone. Deliberately
//! absent: absolute limits, real networks, anything but 127.0.0.1.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command, STANDARD_OUTPUT};

mod accept;
mod child;
mod cli;
mod cost;
mod deliver;
mod functions;
mod generator;
mod howk;
mod latency;
mod loops;
mod measure;
mod payload;
mod progress;
mod rebuild;
mod receiver;
mod report;
mod servers;
mod services;
mod soak;
mod storm;
mod watched;

/// The allocator of both sides of every comparison, since they share the process.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// An aim was missed, and that counts: with `--strict`, and always in a simulation, which no busy machine disturbs.
const EXIT_MISSED: u8 = 3;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            writeln!(std::io::stderr(), "howk-load: {error:#}").ok();
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let is_strict = cli.strict || matches!(cli.command, Command::Storm(_));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(async {
        let report = match cli.command {
            Command::Deliver(options) => deliver::run(&options).await?,
            Command::Accept(options) => accept::run(&options).await?,
            Command::Latency(options) => latency::run(&options).await?,
            Command::Rebuild(options) => rebuild::run(&options).await?,
            Command::Soak(options) => soak::run(&options).await?,
            Command::Functions(options) => functions::run(&options).await?,
            Command::Cost(options) => cost::run(&options)?,
            Command::Storm(options) => storm::run(&options)?,
            Command::Receiver(options) => return receiver::serve(&options).await.map(|()| None),
            Command::Generator(options) => return generator::run(&options).await.map(|()| None),
        };
        anyhow::Ok(Some(report))
    });
    // Not waited for: a read of standard input may still be pending, and losing it does no harm.
    runtime.shutdown_background();
    let Some(report) = report? else { return Ok(ExitCode::SUCCESS) };
    match cli.json {
        Some(file) if file == Path::new(STANDARD_OUTPUT) => writeln!(std::io::stdout(), "{}", report.json()?)?,
        Some(file) => {
            report.write(&mut std::io::stdout())?;
            report.save(&file)?;
        }
        None => report.write(&mut std::io::stdout())?,
    }
    let missed: Vec<_> = report.missed().filter(|_| is_strict).collect();
    for aim in &missed {
        writeln!(std::io::stderr(), "howk-load: missed: {} is {:.2}", aim.name, aim.value)?;
    }
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_MISSED) })
}
