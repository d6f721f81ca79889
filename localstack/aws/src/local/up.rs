//! `howk-local up`: services, settings and binaries first, then the stack, then the wait for its end.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;

use ::settings::{Environment, ProcessEnvironment, SettingsErrors};
use anyhow::Context;
use clock_system::SystemRandom;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::binaries::Places;
use super::services;
use super::settings::{self, Told};
use crate::cli::Up;
use crate::lambda::Output;
use crate::spec::StackSpec;
use crate::stack::{Stack, StackConfig};
use crate::view;

/// How long it may take until a webhook would be delivered.
const PATIENCE: Duration = Duration::from_mins(2);
/// Where the log goes under the view.
const LOG: &str = ".howk/local.log";

/// Settings that cannot be used.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct BadSettings(SettingsErrors);

/// The file that the log goes to under the view.
///
/// # Errors
/// When it can't be written.
pub fn log_file() -> anyhow::Result<File> {
    fs::create_dir_all(".howk").context(".howk cannot be made here")?;
    File::create(LOG).with_context(|| format!("{LOG} cannot be written"))
}

/// A stack as the command line and the settings want it.
#[derive(Debug)]
pub struct LocalStack<'a> {
    /// What to start.
    pub options: &'a Up,
    /// Whether the view is shown.
    pub shows: bool,
    /// Cancelled to end it.
    pub asked: CancellationToken,
}

impl LocalStack<'_> {
    /// Brings everything up, stays until asked to stop, and takes down what it brought up.
    ///
    /// # Errors
    /// [`BadSettings`], or whatever keeps the stack from running.
    pub async fn run(&self) -> anyhow::Result<()> {
        let spec = spec(self.options)?;
        let binaries = binaries(self.options, &spec)?;
        let environment = ProcessEnvironment.variables();
        let told =
            settings::tell(&environment, self.options.config.as_deref(), &SystemRandom).map_err(BadSettings)?;
        let given = |name: &str| environment.get(name).map(String::as_str).filter(|value| !value.is_empty());
        let services = services::up(given("HOWK_KAFKA_BROKERS"), given("HOWK_REDIS_ADDR")).await?;
        let ran = tokio::select! {
            told = prepare(told.at(&services)) => match told {
                Ok(told) => self.run_stack(&told, spec, binaries).await,
                Err(error) => Err(error),
            },
            () = self.asked.cancelled() => Ok(()),
        };
        if services.are_ours && !self.options.keep_services {
            say("stopping Kafka and Redis");
            services::down().await?;
        }
        ran
    }

    async fn run_stack(
        &self,
        told: &Told,
        spec: StackSpec,
        binaries: BTreeMap<String, PathBuf>,
    ) -> anyhow::Result<()> {
        say("starting the functions");
        let stack = Stack::start(config(self.options, told, spec, binaries)?).await?;
        let outcome = tokio::select! {
            stayed = self.stay(&stack, told) => stayed,
            () = self.asked.cancelled() => Ok(()),
            () = stack.asked_to_stop.cancelled() => Ok(()),
        };
        say("stopping");
        stack.shut_down().await;
        outcome
    }

    async fn stay(&self, stack: &Stack, told: &Told) -> anyhow::Result<()> {
        stack.until_ready(PATIENCE).await?;
        say(&format!("ready: post webhooks to {}", stack.url));
        say(&format!("Lambda's Invoke API and the control API: {}", stack.lambda_url));
        if self.shows {
            return view::show(stack, &told.settings).await;
        }
        std::future::pending().await
    }
}

async fn prepare(told: Told) -> anyhow::Result<Told> {
    for choice in &told.chosen {
        say(&format!("chosen: {choice}"));
    }
    told.make_topics().await?;
    Ok(told)
}

fn say(what: &str) {
    tracing::info!("{what}");
}

fn spec(options: &Up) -> anyhow::Result<StackSpec> {
    let Some(path) = &options.spec else { return StackSpec::howk() };
    let text = fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    StackSpec::parse(&text).with_context(|| path.display().to_string())
}

fn binaries(options: &Up, spec: &StackSpec) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    if options.invoke_url.is_some() {
        return Ok(BTreeMap::new());
    }
    let program = std::env::current_exe().ok();
    let places = options.functions.clone().map_or_else(|| Places::around(program.as_deref()), Places::Named);
    places.find(spec.functions.iter().map(|function| function.name.as_str()))
}

fn config(
    options: &Up,
    told: &Told,
    spec: StackSpec,
    binaries: BTreeMap<String, PathBuf>,
) -> anyhow::Result<StackConfig> {
    Ok(StackConfig {
        spec,
        binaries,
        variables: told.variables.clone(),
        topics: told.topics(),
        group: told.settings.kafka.consumer.group.clone(),
        port: options.port,
        lambda_port: options.lambda_port,
        invoke_url: options.invoke_url.as_ref().map(|url| url.trim_end_matches('/').to_owned()),
        freezes: !options.no_freeze,
        account_concurrency: options.concurrency.get(),
        output: Output::logged(),
        ..StackConfig::new(told.brokers())?
    })
}
