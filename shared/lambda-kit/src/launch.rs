//! The start of a function: settings, telemetry, runtime; then its own wiring.

use std::process::ExitCode;
use std::sync::Arc;

use delivery::observe;
use delivery::ports::time::Clock;
use settings::{
    EffectiveKey, Environment, LogLevel, Origin, ProcessEnvironment, Settings, SettingsErrors, Sources,
    ValidationError,
};
use tokio::runtime::{Builder, Runtime};

use crate::emf::Emf;
use crate::init_error::InitError;
use crate::logging;
use crate::start::StartError;

/// The exit code for settings that are wrong: `EX_CONFIG` of sysexits.
const BAD_SETTINGS: u8 = 78;

/// The exit code of a start that fails for another reason.
const NOT_STARTED: u8 = 1;

/// Finds the errors that show when settings are put to use. The clock judges whether a token is still valid.
pub type Validation = fn(&Settings, &Arc<dyn Clock>) -> Vec<ValidationError>;

/// A function, as its main declares it.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// Its name, which is a dimension of its metrics.
    pub name: &'static str,
    /// The settings that must be decided for it: of the keys of each entry, one is set.
    pub decided: &'static [&'static [&'static str]],
    /// Finds the errors in the settings of its adapters.
    pub validate: Validation,
}

/// What a main gets.
#[derive(Clone)]
pub struct FunctionContext {
    /// The settings.
    pub settings: Arc<Settings>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The metrics.
    pub emf: Emf,
}

impl FunctionContext {
    /// Writes the metrics that were counted since the last flush, at the end of an invocation.
    pub fn flush_metrics(&self, request_id: &str) {
        if let Err(error) = self.emf.flush(self.clock.now(), request_id, std::io::stdout().lock()) {
            tracing::warn!(%error, "metrics were not written");
        }
    }
}

/// Starts a function: reads the settings, starts the telemetry, and runs `main` on a runtime of one thread, as a function
/// of the usual sizes has less than one processor.
///
/// A start that fails is one log line and one report to the Runtime API, and the process ends: with 78 for wrong settings,
/// all of whose errors are listed, else with 1.
pub fn launch(
    function: Function,
    clock: Arc<dyn Clock>,
    main: impl AsyncFnOnce(FunctionContext) -> Result<(), StartError>,
) -> ExitCode {
    match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let ended = launch_on(&runtime, function, (clock, main));
            // Does not wait for threads that are blocked on a name lookup or a server that does not answer.
            runtime.shutdown_background();
            ended
        }
        Err(error) => {
            drop(start_logging(LogLevel::Info));
            not_started(function, &error.into())
        }
    }
}

fn launch_on<M>(runtime: &Runtime, function: Function, (clock, main): (Arc<dyn Clock>, M)) -> ExitCode
where
    M: AsyncFnOnce(FunctionContext) -> Result<(), StartError>,
{
    let environment = runtime.block_on(environment());
    let loaded = load(function, Sources { file: None, environment: &environment }, &clock);
    drop(environment);
    let logging = start_logging(loaded.as_ref().map_or(LogLevel::Info, |settings| settings.log.level));
    let settings = match loaded {
        Ok(settings) => settings,
        Err(errors) => {
            let error = InitError { kind: "howk.settings", message: errors.on_one_line(), code: BAD_SETTINGS };
            return end(function, &error);
        }
    };
    tracing::info!(function = function.name, settings = chosen(&settings), "starting");
    if let Some(ignored) = settings.ignored() {
        tracing::warn!("settings that are set and steer nothing: {ignored}");
    }
    let context = FunctionContext { settings: Arc::new(settings), clock, emf: Emf::new(function.name) };
    match logging.and_then(|()| run(runtime, context, main)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => not_started(function, &error),
    }
}

fn run(
    runtime: &Runtime,
    context: FunctionContext,
    main: impl AsyncFnOnce(FunctionContext) -> Result<(), StartError>,
) -> Result<(), StartError> {
    metrics::set_global_recorder(context.emf.recorder())?;
    observe::describe();
    runtime.block_on(main(context))
}

fn start_logging(level: LogLevel) -> Result<(), StartError> {
    let subscriber = logging::subscriber(std::io::stdout, level);
    tracing::subscriber::set_global_default(subscriber).map_err(StartError::from)
}

/// The variables of this process.
#[cfg(feature = "secrets")]
async fn environment() -> impl Environment {
    crate::secrets::WithSecrets::of(&ProcessEnvironment).await
}

#[cfg(not(feature = "secrets"))]
#[expect(clippy::unused_async, reason = "with the feature secrets it asks Secrets Manager")]
async fn environment() -> impl Environment {
    ProcessEnvironment
}

/// Settings that the function can use.
fn load(function: Function, sources: Sources<'_>, clock: &Arc<dyn Clock>) -> Result<Settings, SettingsErrors> {
    let loaded = settings::read_function(sources, function.decided);
    let found = (function.validate)(loaded.settings(), clock);
    loaded.with(found).on_lambda().checked()
}

fn not_started(function: Function, error: &StartError) -> ExitCode {
    end(function, &InitError { kind: "howk.start", message: error.to_string(), code: NOT_STARTED })
}

/// Logs and reports why the function does not start.
fn end(function: Function, error: &InitError) -> ExitCode {
    tracing::error!(function = function.name, "{} cannot start: {}", function.name, error.message);
    error.report();
    ExitCode::from(error.code)
}

/// The settings that differ from their defaults by a variable or the file, masked.
fn chosen(settings: &Settings) -> String {
    let chosen = settings.effective().into_iter().filter(|key| key.origin != Origin::Default);
    chosen.map(|EffectiveKey { key, value, .. }| format!("{key} = {value}")).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    struct NoClock;

    #[async_trait::async_trait]
    impl Clock for NoClock {
        fn now(&self) -> domain::Timestamp {
            domain::Timestamp::EPOCH
        }

        async fn sleep(&self, _: std::time::Duration) {}
    }

    fn clock() -> Arc<dyn Clock> {
        Arc::new(NoClock)
    }

    #[test]
    fn every_error_stands_on_one_line_that_names_the_key_the_variable_and_the_fix() {
        let variables = BTreeMap::from([
            ("HOWK_RETRY_JITTER".to_owned(), "2".to_owned()),
            ("HOWK_RETYR_BASE_DELAY".to_owned(), "1s".to_owned()),
        ]);
        let sources = Sources { file: None, environment: &variables };
        let function = Function {
            name: "f",
            decided: &[&["kafka.brokers"], &["api.auth"]],
            validate: |_, _| vec![ValidationError::of("redis.ca_file", "ca.pem cannot be read")],
        };
        let errors = load(function, sources, &clock()).unwrap_err();
        let line = errors.on_one_line();
        assert!(line.starts_with("5 errors in the settings: retry.jitter (HOWK_RETRY_JITTER): 2 is not"), "{line}");
        for part in [
            "; kafka.brokers (HOWK_KAFKA_BROKERS): is not set, and a function has no default for it",
            "; api.auth (HOWK_API_AUTH): is not set",
            "; HOWK_RETYR_BASE_DELAY: unknown",
            "; redis.ca_file (HOWK_REDIS_CA_FILE): ca.pem cannot be read",
        ] {
            assert!(line.contains(part), "{part}\nis not in\n{line}");
        }
        assert_eq!(line.lines().count(), 1);
    }
}
