//! Stops a stack: from inside at a signal, from outside through its control API. Also shows its status.

use std::time::Duration;

use anyhow::{Context, bail};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::services;
use crate::control::StackState;
use crate::invoker::http_client;

const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often to look whether a stack has ended, [`LOOK_EVERY`] apart: 20 s together.
const LOOKS: u32 = 400;

/// Cancels the token at SIGINT or SIGTERM, and ends with the second of them.
///
/// # Errors
/// Always, when it returns: at the second signal, or when signals can't be received.
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

/// What ran on the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// A stack.
    Stack,
    /// No stack answered.
    Nothing,
}

/// Stops the stack whose Invoke API is on a port, and waits until it has ended. It is no error when there is none.
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

/// The status of a stack, for people.
///
/// # Errors
/// When no stack answers on the port; the error contains the status of Kafka and Redis.
pub async fn status(lambda_port: u16) -> anyhow::Result<String> {
    let client = http_client()?;
    let asked = client.get(format!("http://127.0.0.1:{lambda_port}/control/state")).send().await;
    let Ok(answer) = asked else {
        bail!("no stack answers on port {lambda_port}\n{}", services::status().await?.trim_end())
    };
    let text = answer.text().await.context("the stack did not send its state")?;
    Ok(to_text(&serde_json::from_str(&text).context("another program answers there")?))
}

fn to_text(state: &StackState) -> String {
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
