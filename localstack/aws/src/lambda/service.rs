//! Lambda: invokes functions, shows their state, and carries out orders.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use delivery::ports::time::{Clock, Random};
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::answer::{Answer, InvokeError};
use super::function::Program;
use super::invocation::Invocation;
use super::order::Order;
use super::output::Output;
use super::pool::{Claimed, ConcurrencyLimits, Pool, Shared};
use super::state::{EnvironmentState, FunctionState, Phase};

/// How long an invocation that is under way may take at shutdown before its process is killed.
const GRACE: Duration = Duration::from_secs(2);

/// The parts and settings of Lambda.
pub struct LambdaConfig {
    /// The functions.
    pub programs: Vec<Program>,
    /// Invocations of all functions that may run at once.
    pub account_concurrency: usize,
    /// Whether processes are stopped between invocations.
    pub freezes: bool,
    /// The destination of the functions' lines.
    pub output: Output,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
}

/// Lambda. Clones share everything.
#[derive(Clone)]
pub struct Lambda {
    pub(super) shared: Arc<Shared>,
}

impl Lambda {
    /// Builds it. No function is started before it is invoked or warmed.
    pub fn new(config: LambdaConfig) -> Self {
        let pools =
            config.programs.iter().map(|program| (program.spec.name.clone(), Pool::new(&program.spec))).collect();
        let programs = config.programs.into_iter().map(|program| (program.spec.name.clone(), program)).collect();
        Self {
            shared: Arc::new(Shared {
                programs,
                clock: config.clock,
                random: config.random,
                freezes: config.freezes,
                tracker: TaskTracker::new(),
                stopping: CancellationToken::new(),
                account_concurrency: config.account_concurrency,
                output: config.output,
                next_id: AtomicU64::new(1),
                pools: Mutex::new(pools),
            }),
        }
    }

    /// A new invocation.
    pub fn invocation(&self, payload: bytes::Bytes) -> Invocation {
        Invocation::new(payload, &*self.shared.clock, &*self.shared.random)
    }

    /// Whether there is such a function.
    pub fn knows(&self, function: &str) -> bool {
        self.shared.programs.contains_key(function)
    }

    /// Runs a function and waits for its answer.
    ///
    /// # Errors
    /// When it does not run: there is none of that name, or no concurrency is left.
    pub async fn invoke(&self, function: &str, invocation: Invocation) -> Result<Answer, InvokeError> {
        let (reply, answer) = oneshot::channel();
        let orders = match self.shared.claim(function)? {
            Claimed::Free(orders) => orders,
            Claimed::ToStart(place) => self.shared.start(function, Some(place)).await?.0,
        };
        orders.send(Order::Invoke(Arc::new(invocation), reply)).ok();
        // No answer means that the environment was killed before it took the order.
        let killed = || Answer::platform("Runtime.ExitError", "Runtime exited with error: signal: killed");
        Ok(answer.await.unwrap_or_else(|_| killed()))
    }

    /// Starts an environment ahead of its first invocation, and waits until it has started.
    ///
    /// # Errors
    /// The error that the function reported, or that it did not start within 10 seconds.
    pub async fn warm(&self, function: &str) -> Result<(), InvokeError> {
        let (_, mut state) = self.shared.start(function, None).await?;
        let settled = state.wait_for(|state| matches!(state.phase, Phase::Idle | Phase::Busy | Phase::Ended)).await;
        match settled {
            Ok(state) if state.phase != Phase::Ended => Ok(()),
            Ok(state) => Err(InvokeError::NoEnvironment(state.ended.clone().unwrap_or_default())),
            Err(_) => Err(InvokeError::NoEnvironment("it ended".to_owned())),
        }
    }

    /// The state of every function.
    pub fn state(&self) -> Vec<FunctionState> {
        self.shared.pools.lock().iter().map(|(name, pool)| pool.state(name)).collect()
    }

    /// The state of one function.
    pub fn state_of(&self, function: &str) -> Option<FunctionState> {
        self.shared.pools.lock().get(function).map(|pool| pool.state(function))
    }

    /// The state of one environment, from now on until after its end.
    pub fn watch(&self, environment: u64) -> Option<watch::Receiver<EnvironmentState>> {
        self.shared.find(environment, |entry| entry.state.clone())
    }

    /// Changes how many invocations may run at once and how long. Those under way keep their deadline.
    pub fn set_limits(&self, function: &str, change: impl FnOnce(&mut ConcurrencyLimits)) -> bool {
        self.shared.pools.lock().get_mut(function).map(|pool| change(pool.limits_mut())).is_some()
    }

    /// Stops the process of an environment where it is. Returns whether there is one.
    pub fn freeze(&self, environment: u64) -> bool {
        self.order(environment, Order::Freeze)
    }

    /// Lets the process of an environment go on.
    pub fn thaw(&self, environment: u64) -> bool {
        self.order(environment, Order::Thaw)
    }

    /// Kills the process of an environment. Its invocation fails.
    pub fn kill(&self, environment: u64) -> bool {
        self.order(environment, Order::Kill)
    }

    /// Ends an environment in good order, once it is idle.
    pub fn retire(&self, environment: u64) -> bool {
        self.order(environment, Order::Retire)
    }

    /// Ends every environment: idle ones at once, busy ones when their invocation ends, or by a kill after 2 seconds.
    pub async fn shut_down(&self) {
        self.shared.stopping.cancel();
        self.order_all(|| Order::Retire);
        self.shared.tracker.close();
        tokio::select! {
            () = self.shared.tracker.wait() => return,
            () = self.shared.clock.sleep(GRACE) => {}
        }
        self.order_all(|| Order::Kill);
        self.shared.tracker.wait().await;
    }

    fn order(&self, environment: u64, order: Order) -> bool {
        self.shared.find(environment, |entry| entry.orders.send(order).is_ok()).unwrap_or_default()
    }

    fn order_all(&self, order: impl Fn() -> Order) {
        for pool in self.shared.pools.lock().values() {
            pool.order_all(&order);
        }
    }
}
