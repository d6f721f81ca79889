//! A stack: Lambda, event sources, schedules and the front, by one list of functions.
//!
//! Tests start one in their own process, with functions, topics and a group of their own.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::serve::ListenerExt;
use clock_system::{SystemClock, SystemRandom};
use delivery::ports::time::{Clock, Random};
use futures::future::join_all;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::control::{self, Controls, StackState};
use crate::event_source::{EventSource, SourceConfig, SourceControl};
use crate::front::{self, Front};
use crate::invoker::{Invoker, http_client};
use crate::lambda::{self, Lambda, LambdaConfig, Output, Program};
use crate::schedule::{Schedule, ScheduleConfig, ScheduleControl};
use crate::spec::{EventSourceSpec, ScheduleSpec, StackSpec};

/// The function behind the front.
const FRONT: &str = "enqueue";
/// The variable that says how many requests a lane may have under way.
const CONCURRENCY: &str = "HOWK_DELIVERY_CONCURRENCY";
/// The pause between two looks at `/ready`.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// The parts and settings of a stack.
#[derive(Clone)]
pub struct StackConfig {
    /// The functions, event sources and schedules. Topics are named as in `infra/topics.json`.
    pub spec: StackSpec,
    /// The binary of each function.
    pub binaries: BTreeMap<String, PathBuf>,
    /// Variables that every function gets.
    pub variables: BTreeMap<String, String>,
    /// Kafka's brokers.
    pub brokers: Vec<String>,
    /// The topics' names in Kafka, by their names in the spec. A topic that is not listed has its name of the spec.
    pub topics: BTreeMap<String, String>,
    /// The consumer group of the fast lane's event source. The slow lane's is this with `-slow` behind it, that of any other
    /// function this with `-` and the function's name.
    pub group: String,
    /// The port of the front; 0 takes any free one.
    pub port: u16,
    /// The port of the Invoke API and of the control API; 0 takes any free one.
    pub lambda_port: u16,
    /// An Invoke API to use instead of the one here, without a slash at its end.
    pub invoke_url: Option<String>,
    /// Whether processes are stopped between invocations.
    pub freezes: bool,
    /// Invocations that may run at once, of all functions.
    pub account_concurrency: usize,
    /// The destination of the functions' lines.
    pub output: Output,
}

impl StackConfig {
    /// A stack of howk's functions on these brokers, on free ports. Binaries and variables are still to be given.
    ///
    /// # Errors
    /// Never: the list is compiled in.
    pub fn new(brokers: Vec<String>) -> anyhow::Result<Self> {
        Ok(Self {
            spec: StackSpec::howk()?,
            binaries: BTreeMap::new(),
            variables: BTreeMap::new(),
            brokers,
            topics: BTreeMap::new(),
            group: "howk-workers".to_owned(),
            port: 0,
            lambda_port: 0,
            invoke_url: None,
            freezes: true,
            account_concurrency: 64,
            output: Output::logged(),
        })
    }

    fn programs(&self) -> anyhow::Result<Vec<Program>> {
        let program = |spec: &crate::spec::FunctionSpec| {
            let path = self.binaries.get(&spec.name).with_context(|| format!("{} has no binary", spec.name))?;
            let mut variables = self.variables.clone();
            if let Some(concurrency) = spec.concurrency {
                variables.entry(CONCURRENCY.to_owned()).or_insert_with(|| concurrency.to_string());
            }
            Ok(Program { spec: spec.clone(), path: path.clone(), variables })
        };
        self.spec.functions.iter().map(program).collect()
    }

    fn source(&self, spec: &EventSourceSpec, invoker: &Invoker, clock: &Arc<dyn Clock>) -> SourceConfig {
        let called = |topic: &String| self.topics.get(topic).unwrap_or(topic).clone();
        let suffix = match spec.function.as_str() {
            "fast-lane" => String::new(),
            "slow-lane" => "-slow".to_owned(),
            other => format!("-{other}"),
        };
        SourceConfig {
            spec: EventSourceSpec {
                topic: called(&spec.topic),
                on_failure_topic: spec.on_failure_topic.as_ref().map(called),
                ..spec.clone()
            },
            brokers: self.brokers.clone(),
            group: format!("{}{suffix}", self.group),
            invoker: invoker.clone(),
            clock: Arc::clone(clock),
        }
    }
}

/// A running stack.
pub struct Stack {
    /// The URL of the front, where webhooks are posted.
    pub url: String,
    /// The URL of the Invoke API and of the control API.
    pub lambda_url: String,
    /// Cancelled when the control API is asked to end the stack.
    pub asked_to_stop: CancellationToken,
    lambda: Lambda,
    sources: Vec<EventSource>,
    schedules: Vec<Schedule>,
    controls: Arc<Controls>,
    clock: Arc<dyn Clock>,
    servers: JoinSet<()>,
}

impl Stack {
    /// Starts everything. Every function is started once, so that a function that can't start fails the start.
    ///
    /// # Errors
    /// A port that is taken, or the error of each function that could not start.
    pub async fn start(config: StackConfig) -> anyhow::Result<Self> {
        let surroundings = Surroundings { clock: Arc::new(SystemClock), random: Arc::new(SystemRandom) };
        let (front_listener, url) = listen(config.port, "--port").await?;
        let (lambda_listener, lambda_url) = listen(config.lambda_port, "--lambda-port").await?;
        let lambda = Lambda::new(surroundings.lambda(&config)?);
        if let Err(error) = warm(&lambda).await {
            lambda.shut_down().await;
            return Err(error);
        }
        let invoker = Invoker::new(config.invoke_url.as_ref().unwrap_or(&lambda_url))?;
        let sources = surroundings.sources(&config, &invoker)?;
        let schedules = surroundings.schedules(&config, &invoker);
        let controls = Arc::new(Controls {
            lambda: lambda.clone(),
            sources: sources.iter().map(EventSource::control).collect(),
            schedules: schedules.iter().map(Schedule::control).collect(),
            stop: CancellationToken::new(),
        });
        let mut servers = JoinSet::new();
        let routes = lambda::router(lambda.clone()).merge(control::router(Arc::clone(&controls)));
        servers.spawn(serve(lambda_listener, routes));
        servers.spawn(serve(front_listener, front::router(surroundings.front(invoker, Arc::clone(&controls)))));
        let asked_to_stop = controls.stop.clone();
        let clock = surroundings.clock;
        Ok(Self { url, lambda_url, asked_to_stop, lambda, sources, schedules, controls, clock, servers })
    }

    /// Lambda, to look at environments, and to freeze, kill and throttle them.
    pub const fn lambda(&self) -> &Lambda {
        &self.lambda
    }

    /// The event source of a function.
    pub fn source(&self, function: &str) -> Option<SourceControl> {
        self.controls.source(function).cloned()
    }

    /// The schedule of a function.
    pub fn schedule(&self, function: &str) -> Option<ScheduleControl> {
        self.controls.schedule(function).cloned()
    }

    /// The state of every part.
    pub fn state(&self) -> StackState {
        self.controls.state()
    }

    /// What the control API and the view use.
    pub fn controls(&self) -> Arc<Controls> {
        Arc::clone(&self.controls)
    }

    /// Waits until `/ready` on the front answers 200.
    ///
    /// # Errors
    /// When it is not ready within the timeout: what is missing.
    pub async fn until_ready(&self, timeout: Duration) -> anyhow::Result<()> {
        let client = http_client()?;
        let give_up_at = self.clock.now().plus(timeout);
        loop {
            let answer = client.get(format!("{}/ready", self.url)).send().await?;
            if answer.status().is_success() {
                return Ok(());
            }
            let text = answer.text().await.unwrap_or_default();
            anyhow::ensure!(self.clock.now() < give_up_at, "not ready after {timeout:?}: {text}");
            self.clock.sleep(LOOK_EVERY).await;
        }
    }

    /// Stops everything: schedules and event sources first, then the functions. No process is left running.
    pub async fn shut_down(mut self) {
        join_all(self.schedules.iter().map(Schedule::stop)).await;
        join_all(self.sources.iter().map(|source| source.stop(&*self.clock))).await;
        self.lambda.shut_down().await;
        self.servers.shutdown().await;
    }
}

/// The clock and the randomness of a stack.
struct Surroundings {
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
}

impl Surroundings {
    fn lambda(&self, config: &StackConfig) -> anyhow::Result<LambdaConfig> {
        Ok(LambdaConfig {
            programs: if config.invoke_url.is_none() { config.programs()? } else { Vec::new() },
            account_concurrency: config.account_concurrency,
            freezes: config.freezes,
            output: config.output.clone(),
            clock: Arc::clone(&self.clock),
            random: Arc::clone(&self.random),
        })
    }

    fn sources(&self, config: &StackConfig, invoker: &Invoker) -> anyhow::Result<Vec<EventSource>> {
        let specs = config.spec.event_sources.iter();
        specs.map(|spec| EventSource::start(config.source(spec, invoker, &self.clock))).collect()
    }

    fn schedules(&self, config: &StackConfig, invoker: &Invoker) -> Vec<Schedule> {
        let start = |spec: &ScheduleSpec| {
            let (clock, random) = (Arc::clone(&self.clock), Arc::clone(&self.random));
            Schedule::start(ScheduleConfig { spec: spec.clone(), invoker: invoker.clone(), clock, random })
        };
        config.spec.schedules.iter().map(start).collect()
    }

    fn front(&self, invoker: Invoker, watched: Arc<Controls>) -> Front {
        Front {
            function: FRONT.to_owned(),
            invoker,
            missing: Box::new(move || watched.missing()),
            clock: Arc::clone(&self.clock),
            random: Arc::clone(&self.random),
        }
    }
}

/// Starts every function once; the error names all that can't start.
async fn warm(lambda: &Lambda) -> anyhow::Result<()> {
    let names: Vec<String> = lambda.state().into_iter().map(|function| function.name).collect();
    let warmed = join_all(names.iter().map(|name| lambda.warm(name))).await;
    let failed = names.iter().zip(warmed).filter_map(|(name, warmed)| Some(format!("{name}: {}", warmed.err()?)));
    let failed: Vec<String> = failed.collect();
    anyhow::ensure!(failed.is_empty(), "functions could not start:\n  {}", failed.join("\n  "));
    Ok(())
}

async fn listen(port: u16, option: &str) -> anyhow::Result<(TcpListener, String)> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await.with_context(|| {
        format!("port {port} cannot be used; choose another one with {option} (0 picks a free one)")
    })?;
    let url = format!("http://{}", listener.local_addr()?);
    Ok((listener, url))
}

async fn serve(listener: TcpListener, router: Router) {
    // Answers are small: without this the system would delay them, waiting for more data to send.
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    if let Err(error) = axum::serve(listener, service).await {
        tracing::error!(%error, "a server ended");
    }
}
