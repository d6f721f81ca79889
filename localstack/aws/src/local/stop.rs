//! The end of a stack, from inside by signals and from outside through its control API.

use std::time::Duration;

use anyhow::{Context, bail};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::services;
use crate::control::StackState;
use crate::invoker::http_client;

const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Attempts to see that a stack has ended, [`LOOK_EVERY`] apart.
const LOOKS: u32 = 400;

/// Cancels the token at SIGINT or SIGTERM, and ends with the second of them.
///
/// # Errors
/// Always, in the end: what was to be ended in good order was not.
pub async fn signals(asked: CancellationToken) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    for _ in 0..2 {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        if asked.is_cancelled() {
            break;
        }
        asked.cancel();
    }
    bail!("stopped at once, at the second signal")
}

/// What there was to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// A stack.
    Stack,
    /// None answered.
    Nothing,
}

/// Ends the stack whose Invoke API is on a port, and waits until it has ended. None is fine.
///
/// # Errors
/// When it does not end.
pub async fn running(lambda_port: u16) -> anyhow::Result<Ran> {
    let client = http_client()?;
    let url = |path: &str| format!("http://127.0.0.1:{lambda_port}/control/{path}");
    if client.post(url("stop")).send().await.is_err() {
        return Ok(Ran::Nothing);
    }
    for _ in 0..LOOKS {
        if client.get(url("state")).send().await.is_err() {
            return Ok(Ran::Stack);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    bail!("the stack on port {lambda_port} was asked to stop, but still answers")
}

/// What runs, for people.
///
/// # Errors
/// When no stack answers on the port; the error says how Kafka and Redis are.
pub async fn status(lambda_port: u16) -> anyhow::Result<String> {
    let client = http_client()?;
    let asked = client.get(format!("http://127.0.0.1:{lambda_port}/control/state")).send().await;
    let Ok(answer) = asked else {
        bail!("no stack answers on port {lambda_port}\n{}", services::status().await?.trim_end())
    };
    let text = answer.text().await.context("the stack did not say how it is")?;
    Ok(shown(&serde_json::from_str(&text).context("another program answers there")?))
}

fn shown(state: &StackState) -> String {
    let functions = state.functions.iter().map(|function| {
        let (name, environments) = (&function.name, function.environments.len());
        let counts = format!("{} invocations, {} errors", function.invocations, function.errors);
        format!("{name}: {environments} environments, {counts}, {} throttled", function.throttles)
    });
    let sources = state.event_sources.iter().map(|source| {
        let is = if source.is_paused { "paused" } else { "polling" };
        let counts = format!("{} records, lag {}, {} given up", source.records, source.lag, source.given_up);
        format!("{} -> {}: {is}, {counts}", source.topic, source.function)
    });
    let schedules = state
        .schedules
        .iter()
        .map(|schedule| format!("schedule -> {}: {} events handed over", schedule.function, schedule.handed_over));
    functions.chain(sources).chain(schedules).collect::<Vec<_>>().join("\n")
}
