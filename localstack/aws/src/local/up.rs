//! `howk-local up`: prepares settings, binaries and services, starts the stack, and waits for its end.

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
use super::settings::{self, FunctionSettings};
use crate::cli::Up;
use crate::lambda::Output;
use crate::spec::StackSpec;
use crate::stack::{Stack, StackConfig};
use crate::view;

/// How long a stack may take until it is ready.
const READY_TIMEOUT: Duration = Duration::from_mins(2);
/// The file that the log goes to while the view is shown.
const LOG: &str = ".howk/local.log";

/// Settings that cannot be used.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct BadSettings(SettingsErrors);

/// Creates the file that the log goes to while the view is shown.
///
/// # Errors
/// When it can't be written.
pub fn log_file() -> anyhow::Result<File> {
    fs::create_dir_all(".howk").context(".howk cannot be created here")?;
    File::create(LOG).with_context(|| format!("{LOG} cannot be written"))
}

/// A stack, by the command line and the settings.
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
    /// Starts everything, runs until it is asked to stop, and stops everything that it started.
    ///
    /// # Errors
    /// [`BadSettings`], or any other reason why the stack can't run.
    pub async fn run(&self) -> anyhow::Result<()> {
        let spec = spec(self.options)?;
        let binaries = binaries(self.options, &spec)?;
        let environment = ProcessEnvironment.variables();
        let resolved =
            settings::resolve(&environment, self.options.config.as_deref(), &SystemRandom).map_err(BadSettings)?;
        let given = |name: &str| environment.get(name).map(String::as_str).filter(|value| !value.is_empty());
        let services = services::up(given("HOWK_KAFKA_BROKERS"), given("HOWK_REDIS_ADDR")).await?;
        let ran = tokio::select! {
            resolved = prepare(resolved.at(&services)) => match resolved {
                Ok(resolved) => self.run_stack(&resolved, spec, binaries).await,
                Err(error) => Err(error),
            },
            () = self.asked.cancelled() => Ok(()),
        };
        if services.are_ours && !self.options.keep_services {
            log_step("stopping Kafka and Redis");
            services::down().await?;
        }
        ran
    }

    async fn run_stack(
        &self,
        resolved: &FunctionSettings,
        spec: StackSpec,
        binaries: BTreeMap<String, PathBuf>,
    ) -> anyhow::Result<()> {
        log_step("starting the functions");
        let stack = Stack::start(config(self.options, resolved, spec, binaries)?).await?;
        let outcome = tokio::select! {
            stayed = self.stay(&stack, resolved) => stayed,
            () = self.asked.cancelled() => Ok(()),
            () = stack.asked_to_stop.cancelled() => Ok(()),
        };
        log_step("stopping");
        stack.shut_down().await;
        outcome
    }

    async fn stay(&self, stack: &Stack, resolved: &FunctionSettings) -> anyhow::Result<()> {
        stack.until_ready(READY_TIMEOUT).await?;
        log_step(&format!("ready: post webhooks to {}", stack.url));
        log_step(&format!("Lambda's Invoke API and the control API: {}", stack.lambda_url));
        if self.shows {
            return view::show(stack, &resolved.settings).await;
        }
        std::future::pending().await
    }
}

async fn prepare(resolved: FunctionSettings) -> anyhow::Result<FunctionSettings> {
    for choice in &resolved.chosen {
        log_step(&format!("chosen: {choice}"));
    }
    resolved.create_topics().await?;
    Ok(resolved)
}

fn log_step(what: &str) {
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
    resolved: &FunctionSettings,
    spec: StackSpec,
    binaries: BTreeMap<String, PathBuf>,
) -> anyhow::Result<StackConfig> {
    Ok(StackConfig {
        spec,
        binaries,
        variables: resolved.variables.clone(),
        topics: resolved.topics(),
        group: resolved.settings.kafka.consumer.group.clone(),
        port: options.port,
        lambda_port: options.lambda_port,
        invoke_url: options.invoke_url.as_ref().map(|url| url.trim_end_matches('/').to_owned()),
        freezes: !options.no_freeze,
        account_concurrency: options.concurrency.get(),
        output: Output::logged(),
        ..StackConfig::new(resolved.brokers())?
    })
}
