//! Starts an environment: a port for its Runtime API, its process, and the loop that owns both.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::process::Child;
use tokio::sync::{mpsc, watch};

use super::answer::InvokeError;
use super::environment::{Environment, RunState};
use super::order::Order;
use super::pool::{Entry, Place, Shared};
use super::runtime_api;
use super::signal::Group;
use super::state::{EnvironmentState, Phase};

/// The sender of orders to an environment, and its state.
type Started = (mpsc::UnboundedSender<Order>, watch::Receiver<EnvironmentState>);

impl Shared {
    /// Starts an environment, for the invocation that holds its place, or without one ahead of any invocation.
    pub(super) async fn start(
        self: &Arc<Self>,
        function: &str,
        place: Option<Place>,
    ) -> Result<Started, InvokeError> {
        let started = self.started(function, place).await;
        started.map_err(|error| InvokeError::NoEnvironment(format!("{error:#}")))
    }

    async fn started(self: &Arc<Self>, function: &str, place: Option<Place>) -> anyhow::Result<Started> {
        let program = self.programs.get(function).with_context(|| format!("there is no function {function}"))?;
        anyhow::ensure!(!self.stopping.is_cancelled(), "Lambda is stopping");
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port for the Runtime API")?;
        let (started_at, runtime_api) = (self.clock.now(), listener.local_addr()?.to_string());
        let started = program.start(id, &runtime_api);
        let mut child = started.with_context(|| format!("{} could not be started", program.path.display()))?;
        self.read_output(function, id, &mut child);
        let pid = child.id().context("the process has ended already")?;
        let group = Group::of(pid).context("the process has a strange id")?;
        let (sender, events) = mpsc::unbounded_channel();
        let (orders, ordered) = mpsc::unbounded_channel();
        let (state, seen) = watch::channel(EnvironmentState::new(id, pid));
        self.add(function, id, Entry { orders: orders.clone(), state: seen.clone(), claimed: place.is_some() });
        // From here on the environment counts as busy by itself.
        drop(place);
        let environment = Environment {
            shared: Arc::clone(self),
            function: function.to_owned(),
            child,
            group,
            events,
            orders: ordered,
            state,
            started_at,
            run: RunState::default(),
        };
        self.tracker.spawn(serve(listener, sender, environment));
        Ok((orders, seen))
    }

    fn read_output(&self, function: &str, id: u64, child: &mut Child) {
        let lines = || (self.output.clone(), function.to_owned());
        if let Some(pipe) = child.stdout.take() {
            let (output, function) = lines();
            self.tracker.spawn(output.read(function, id, pipe));
        }
        if let Some(pipe) = child.stderr.take() {
            let (output, function) = lines();
            self.tracker.spawn(output.read(function, id, pipe));
        }
    }
}

async fn serve(
    listener: TcpListener,
    sender: mpsc::UnboundedSender<runtime_api::RuntimeEvent>,
    environment: Environment,
) {
    let serving = axum::serve(listener, runtime_api::router(sender)).into_future();
    tokio::select! {
        served = serving => drop(served),
        () = environment.run() => {}
    }
}

impl EnvironmentState {
    const fn new(id: u64, pid: u32) -> Self {
        Self { id, pid, phase: Phase::Starting, frozen: false, invocations: 0, init_ms: None, ended: None }
    }
}
