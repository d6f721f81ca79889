//! The environments of each function: which one an invocation gets, and whether it may run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use delivery::ports::time::{Clock, Random};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::answer::InvokeError;
use super::function::Program;
use super::order::Order;
use super::output::Output;
use super::state::{Counters, EnvironmentState, FunctionState, ms};
use crate::spec::FunctionSpec;

/// The limits of a function, which may be changed while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcurrencyLimits {
    /// How many invocations may run at once.
    pub reserved: Option<usize>,
    /// How long one may take.
    pub timeout: Duration,
}

/// What all environments and invocations share.
pub(super) struct Shared {
    pub(super) programs: BTreeMap<String, Program>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) random: Arc<dyn Random>,
    pub(super) freezes: bool,
    pub(super) tracker: TaskTracker,
    pub(super) stopping: CancellationToken,
    pub(super) account_concurrency: usize,
    pub(super) output: Output,
    pub(super) next_id: AtomicU64,
    pub(super) pools: Mutex<BTreeMap<String, Pool>>,
}

pub(super) struct Pool {
    limits: ConcurrencyLimits,
    counters: Counters,
    environments: BTreeMap<u64, Entry>,
    /// Environments that are being started for invocations.
    starting: usize,
}

pub(super) struct Entry {
    pub(super) orders: mpsc::UnboundedSender<Order>,
    pub(super) state: watch::Receiver<EnvironmentState>,
    /// Whether an invocation uses it.
    pub(super) claimed: bool,
}

/// What an invocation got.
pub(super) enum Claimed {
    /// An environment that was free.
    Free(mpsc::UnboundedSender<Order>),
    /// One that must be started first.
    ToStart(Place),
}

/// The place of an environment that is being started; given back when that fails.
pub(super) struct Place {
    shared: Arc<Shared>,
    function: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(pool) = self.shared.pools.lock().get_mut(&self.function) {
            pool.starting = pool.starting.saturating_sub(1);
        }
    }
}

impl Shared {
    /// Takes a free environment, or the place of one to start.
    pub(super) fn claim(self: &Arc<Self>, function: &str) -> Result<Claimed, InvokeError> {
        let mut pools = self.pools.lock();
        let all: usize = pools.values().map(Pool::busy).sum();
        let pool = pools.get_mut(function).ok_or_else(|| InvokeError::Unknown(function.to_owned()))?;
        let reason = match pool.limits.reserved {
            Some(reserved) if pool.busy() >= reserved => Some("ReservedFunctionConcurrentInvocationLimitExceeded"),
            _ if all >= self.account_concurrency => Some("ConcurrentInvocationLimitExceeded"),
            _ => None,
        };
        if let Some(reason) = reason {
            pool.counters.throttles += 1;
            return Err(InvokeError::Throttled(reason));
        }
        // The youngest first, as on AWS, where environments that are not used are ended.
        if let Some(entry) = pool.environments.values_mut().rev().find(|entry| !entry.claimed) {
            entry.claimed = true;
            return Ok(Claimed::Free(entry.orders.clone()));
        }
        pool.starting += 1;
        Ok(Claimed::ToStart(Place { shared: Arc::clone(self), function: function.to_owned() }))
    }

    /// Reads the entry of an environment.
    pub(super) fn find<T>(&self, environment: u64, read: impl FnOnce(&Entry) -> T) -> Option<T> {
        let pools = self.pools.lock();
        pools.values().find_map(|pool| pool.environments.get(&environment)).map(read)
    }

    pub(super) fn timeout(&self, function: &str) -> Duration {
        self.pools.lock().get(function).map(|pool| pool.limits.timeout).unwrap_or_default()
    }

    pub(super) fn count(&self, function: &str, count: impl FnOnce(&mut Counters)) {
        if let Some(pool) = self.pools.lock().get_mut(function) {
            count(&mut pool.counters);
        }
    }

    pub(super) fn give_back(&self, function: &str, environment: u64) {
        let mut pools = self.pools.lock();
        if let Some(entry) = pools.get_mut(function).and_then(|pool| pool.environments.get_mut(&environment)) {
            entry.claimed = false;
        }
    }

    pub(super) fn remove(&self, function: &str, environment: u64) {
        if let Some(pool) = self.pools.lock().get_mut(function) {
            pool.environments.remove(&environment);
        }
    }

    pub(super) fn add(&self, function: &str, environment: u64, entry: Entry) {
        if let Some(pool) = self.pools.lock().get_mut(function) {
            pool.counters.cold_starts += 1;
            pool.environments.insert(environment, entry);
        }
    }
}

impl Pool {
    pub(super) fn new(spec: &FunctionSpec) -> Self {
        Self {
            limits: ConcurrencyLimits { reserved: spec.reserved_concurrency, timeout: spec.timeout },
            counters: Counters::default(),
            environments: BTreeMap::new(),
            starting: 0,
        }
    }

    fn busy(&self) -> usize {
        self.environments.values().filter(|entry| entry.claimed).count() + self.starting
    }

    pub(super) const fn limits_mut(&mut self) -> &mut ConcurrencyLimits {
        &mut self.limits
    }

    pub(super) fn order_all(&self, order: impl Fn() -> Order) {
        for entry in self.environments.values() {
            entry.orders.send(order()).ok();
        }
    }

    pub(super) fn state(&self, name: &str) -> FunctionState {
        let counters = &self.counters;
        FunctionState {
            name: name.to_owned(),
            invocations: counters.invocations,
            errors: counters.errors,
            timeouts: counters.timeouts,
            throttles: counters.throttles,
            cold_starts: counters.cold_starts,
            queued: counters.queued,
            given_up: counters.given_up,
            busy_ms: ms(counters.busy),
            last_ms: ms(counters.last),
            reserved_concurrency: self.limits.reserved,
            timeout_ms: ms(self.limits.timeout),
            environments: self.environments.values().map(|entry| entry.state.borrow().clone()).collect(),
        }
    }
}
