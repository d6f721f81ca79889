//! Everything together: Lambda, event sources, schedules and the front, from one list of what runs.
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
/// How a lane is told how many requests it may have under way.
const CONCURRENCY: &str = "HOWK_DELIVERY_CONCURRENCY";
/// Between two looks at whether a webhook would be delivered.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// What a stack is made of.
#[derive(Clone)]
pub struct StackConfig {
    /// What runs. Topics are named as in `infra/topics.json`.
    pub spec: StackSpec,
    /// The binary of each function.
    pub binaries: BTreeMap<String, PathBuf>,
    /// Variables that every function gets.
    pub variables: BTreeMap<String, String>,
    /// Kafka's brokers.
    pub brokers: Vec<String>,
    /// What topics are called, by their names in the spec. Those that are missing are called as in the spec.
    pub topics: BTreeMap<String, String>,
    /// The consumer group of the first event source; that of each other has `-slow` behind it for the slow lane, and
    /// the function's name for any other.
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
    /// Where the functions' lines go.
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
    /// Where webhooks are posted.
    pub url: String,
    /// Where the Invoke API is, and the control API.
    pub lambda_url: String,
    /// Cancelled when somebody asks for the end through the control API.
    pub asked_to_stop: CancellationToken,
    lambda: Lambda,
    sources: Vec<EventSource>,
    schedules: Vec<Schedule>,
    controls: Arc<Controls>,
    clock: Arc<dyn Clock>,
    servers: JoinSet<()>,
}

impl Stack {
    /// Starts everything. Every function is started once, so that one that can't start is found now.
    ///
    /// # Errors
    /// A port that is taken, or what each function that could not start said.
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

    /// Lambda, to look at environments and to freeze, kill and throttle.
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

    /// What is to be seen of everything.
    pub fn state(&self) -> StackState {
        self.controls.state()
    }

    /// What the control API and the view share.
    pub fn controls(&self) -> Arc<Controls> {
        Arc::clone(&self.controls)
    }

    /// Waits until `/ready` on the front answers 200.
    ///
    /// # Errors
    /// What was missing when the timeout ended.
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

    /// Stops everything: what feeds functions first, then the functions. Nothing is left running.
    pub async fn shut_down(mut self) {
        join_all(self.schedules.iter().map(Schedule::stop)).await;
        join_all(self.sources.iter().map(|source| source.stop(&*self.clock))).await;
        self.lambda.shut_down().await;
        self.servers.shutdown().await;
    }
}

/// Time and chance, and what is built on them.
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

/// Starts every function once, and tells of all that can't start.
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
    // An answer is small: waiting for more of it would only delay it.
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    if let Err(error) = axum::serve(listener, service).await {
        tracing::error!(%error, "a server ended");
    }
}
