//! Kafka and Redis on this machine, by `localstack/services`.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, bail, ensure};
use tokio::process::Command;

/// The addresses of Kafka and Redis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Services {
    /// Kafka's brokers, as host:port,...
    pub brokers: String,
    /// Redis, as host:port.
    pub redis: String,
    /// Whether neither ran before, so that this stack stops them at its end.
    pub are_ours: bool,
}

/// Starts the services that are missing, and returns their addresses. A service whose variable is set is used as it is.
///
/// # Errors
/// When a service can't be started; the script prints why on standard error.
pub async fn up(brokers: Option<&str>, redis: Option<&str>) -> anyhow::Result<Services> {
    if let (Some(brokers), Some(redis)) = (brokers, redis) {
        return Ok(Services { brokers: brokers.to_owned(), redis: redis.to_owned(), are_ours: false });
    }
    // The script prints `process 123` for each service that runs.
    let are_ours = !status().await?.contains("process");
    let output = run("up").await?;
    if !output.status.success() {
        if are_ours {
            // One of the two may have started.
            down().await?;
        }
        bail!("Kafka and Redis could not be started: see above");
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let found = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.map(str::to_owned).with_context(|| format!("localstack/services did not print {name}"))
    };
    Ok(Services { brokers: found("HOWK_KAFKA_BROKERS")?, redis: found("HOWK_REDIS_ADDR")?, are_ours })
}

/// Stops what `up` started, with everything in it.
///
/// # Errors
/// When that does not work; the script prints why on standard error.
pub async fn down() -> anyhow::Result<()> {
    ensure!(run("down").await?.status.success(), "Kafka and Redis could not be stopped: see above");
    Ok(())
}

/// Whether Kafka and Redis run: the output of the script.
///
/// # Errors
/// When the script can't be run.
pub async fn status() -> anyhow::Result<String> {
    Ok(String::from_utf8_lossy(&run("status").await?.stdout).into_owned())
}

async fn run(verb: &str) -> anyhow::Result<std::process::Output> {
    let script = script()?;
    let mut command = Command::new(&script);
    command.arg(verb).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    // Not in the terminal's group: a Ctrl-C for this program must not stop Kafka before it.
    command.process_group(0);
    let output = command.spawn().with_context(|| format!("{} could not be run", script.display()))?;
    Ok(output.wait_with_output().await?)
}

/// Fails when no `localstack/services` is in this folder or above it. Otherwise `down` would stop the Kafka and Redis of
/// the repository that this program was built in, which may have nothing to do with where `down` was called.
///
/// # Errors
/// When this is not run in howk's repository.
pub fn must_be_here(lambda_port: u16) -> anyhow::Result<()> {
    if script_around()?.is_none() {
        let there = built_script().display().to_string();
        bail!(
            "no stack answers on port {lambda_port}; to stop the Kafka and Redis of that folder, run `{there} down`"
        );
    }
    Ok(())
}

/// The script: in this folder or one above it, otherwise in the repository that this program was built in.
fn script() -> anyhow::Result<PathBuf> {
    let built = || Some(built_script()).filter(|path| path.is_file());
    script_around()?.or_else(built).context(
        "localstack/services was not found: run this in howk's repository, or set HOWK_KAFKA_BROKERS and HOWK_REDIS_ADDR",
    )
}

fn script_around() -> anyhow::Result<Option<PathBuf>> {
    let here = std::env::current_dir()?;
    Ok(here.ancestors().map(|folder| folder.join("localstack/services")).find(|path| path.is_file()))
}

fn built_script() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../services"))
}
