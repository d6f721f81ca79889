//! Cold starts: one environment of a function after the other.

use anyhow::Context;
use howk_local::lambda::{EnvironmentState, Lambda};

use super::ground::Ground;
use super::process;
use crate::measure::{instant, median};
use crate::progress;

/// The starts of one function, medians.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) name: String,
    /// From the start of its process to its first poll.
    pub(super) start_ms: f64,
    pub(super) resident_mib: f64,
}

/// Starts every function this many times.
///
/// # Errors
/// When one can't start.
pub(super) async fn of_every_function(ground: &Ground, times: u32) -> anyhow::Result<Vec<Started>> {
    let lambda = ground.lambda()?;
    let bar = progress::bar(u64::from(times), "starts of each function");
    let names: Vec<String> = lambda.state().into_iter().map(|function| function.name).collect();
    let (mut starts, mut sizes) = (vec![Vec::new(); names.len()], vec![Vec::new(); names.len()]);
    for _ in 0..times {
        for ((name, starts), sizes) in names.iter().zip(&mut starts).zip(&mut sizes) {
            let environment = started(&lambda, name).await?;
            starts.push(milliseconds(&environment)?);
            sizes.push(process::resident_mib(environment.pid)?);
            lambda.retire(environment.id);
            until_ended(&lambda, name).await?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    lambda.shut_down().await;
    let medians = names.into_iter().zip(starts).zip(sizes);
    Ok(medians
        .map(|((name, starts), sizes)| Started { name, start_ms: median(starts), resident_mib: median(sizes) })
        .collect())
}

async fn started(lambda: &Lambda, name: &str) -> anyhow::Result<EnvironmentState> {
    lambda.warm(name).await.map_err(|refused| anyhow::anyhow!("{name}: {refused}"))?;
    let state = lambda.state_of(name).with_context(|| format!("there is no {name}"))?;
    state.environments.into_iter().next().with_context(|| format!("{name} has no environment"))
}

fn milliseconds(environment: &EnvironmentState) -> anyhow::Result<f64> {
    let took = environment.init_ms.context("an environment that has not polled")?;
    Ok(f64::from(u32::try_from(took)?))
}

async fn until_ended(lambda: &Lambda, name: &str) -> anyhow::Result<()> {
    let begun = instant();
    while lambda.state_of(name).is_some_and(|state| !state.environments.is_empty()) {
        anyhow::ensure!(begun.elapsed() < super::ground::TIMEOUT, "{name} does not end");
        tokio::time::sleep(super::ground::LOOK_EVERY).await;
    }
    Ok(())
}
