//! The use-cases, built from ports and settings. The server builds all of them, a function only its own.

use std::sync::Arc;

use delivery::batch::Batch;
use delivery::dead_letters::DeadLetterService;
use delivery::deliver::Deliver;
use delivery::endpoints::EndpointService;
use delivery::enqueue::Enqueue;
use delivery::ports::dead_letters::DeadLetters;
use delivery::ports::endpoints::Endpoints;
use delivery::ports::hot_state::HotState;
use delivery::ports::log::Log;
use delivery::ports::recovery::Recovery;
use delivery::ports::schedule::Schedule;
use delivery::ports::sender::Sender;
use delivery::ports::stats::Stats;
use delivery::ports::statuses::Statuses;
use delivery::ports::time::{Clock, Random};
use delivery::ports::vault::Vault;
use delivery::rebuild::Rebuild;
use delivery::release::Release;
use delivery::scheduler::Scheduler;
use delivery::stats_buffer::StatsBuffer;
use settings::Settings;

use crate::error::WiringError;
use crate::policy::{health_urls, policy};

/// The ports of one store.
#[derive(Clone)]
pub struct Stores {
    /// Claims, leases, endpoints.
    pub hot: Arc<dyn HotState>,
    /// The retry schedule.
    pub schedule: Arc<dyn Schedule>,
    /// Statuses and attempts.
    pub statuses: Arc<dyn Statuses>,
    /// The states and settings of endpoints.
    pub endpoints: Arc<dyn Endpoints>,
    /// The index of dead letters.
    pub dead_letters: Arc<dyn DeadLetters>,
    /// Statistics.
    pub stats: Arc<dyn Stats>,
    /// Whether the hot state is rebuilt.
    pub recovery: Arc<dyn Recovery>,
}

impl Stores {
    /// The ports of a store that implements all of them.
    pub fn of<S>(store: &Arc<S>) -> Self
    where
        S: HotState + Schedule + Statuses + Endpoints + DeadLetters + Stats + Recovery + 'static,
    {
        Self {
            hot: Arc::<S>::clone(store),
            schedule: Arc::<S>::clone(store),
            statuses: Arc::<S>::clone(store),
            endpoints: Arc::<S>::clone(store),
            dead_letters: Arc::<S>::clone(store),
            stats: Arc::<S>::clone(store),
            recovery: Arc::<S>::clone(store),
        }
    }
}

/// Builds use-cases that share a log, a store, a clock and the buffer of statistics.
#[derive(Clone)]
pub struct UseCases {
    /// The source of truth.
    pub log: Arc<dyn Log>,
    /// The hot state.
    pub stores: Stores,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of random numbers.
    pub random: Arc<dyn Random>,
    /// Statistics that are not written yet.
    pub stats_buffer: Arc<StatsBuffer>,
}

impl UseCases {
    /// Use-cases over these ports, with an empty buffer of statistics.
    pub fn new(log: Arc<dyn Log>, stores: Stores, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        let stats_buffer = Arc::new(StatsBuffer::new(Arc::clone(&stores.stats)));
        Self { log, stores, clock, random, stats_buffer }
    }

    /// Accepts webhooks.
    pub fn enqueue(&self, sender: &Arc<dyn Sender>, vault: Arc<dyn Vault>) -> Enqueue {
        Enqueue {
            log: Arc::clone(&self.log),
            hot: Arc::clone(&self.stores.hot),
            sender: Arc::clone(sender),
            vault,
            clock: Arc::clone(&self.clock),
            random: Arc::clone(&self.random),
            stats: Arc::clone(&self.stats_buffer),
        }
    }

    /// Delivers dispatches.
    ///
    /// # Errors
    /// A setting that breaks a rule.
    pub fn deliver(&self, settings: &Settings, sender: &Arc<dyn Sender>) -> Result<Deliver, WiringError> {
        Ok(Deliver {
            log: Arc::clone(&self.log),
            hot: Arc::clone(&self.stores.hot),
            statuses: Arc::clone(&self.stores.statuses),
            sender: Arc::clone(sender),
            clock: Arc::clone(&self.clock),
            random: Arc::clone(&self.random),
            stats: Arc::clone(&self.stats_buffer),
            policy: Arc::new(policy(settings)?),
        })
    }

    /// Delivers the batches of a lane.
    ///
    /// # Errors
    /// A setting that breaks a rule.
    pub fn batch(&self, settings: &Settings, sender: &Arc<dyn Sender>) -> Result<Batch, WiringError> {
        Ok(Batch {
            deliver: Arc::new(self.deliver(settings, sender)?),
            rebuild: Arc::new(self.rebuild(settings)),
            concurrency: count(settings.delivery.concurrency),
            per_key: count(settings.kafka.per_key_parallelism),
            failed: Arc::default(),
        })
    }

    /// Releases what is due.
    pub fn release(&self, settings: &Settings) -> Release {
        Release {
            log: Arc::clone(&self.log),
            schedule: Arc::clone(&self.stores.schedule),
            clock: Arc::clone(&self.clock),
            random: Arc::clone(&self.random),
            batch_max: count(settings.scheduler.batch_size),
            lease_time: settings.scheduler.lock_timeout,
        }
    }

    /// Rebuilds the hot state.
    pub fn rebuild(&self, settings: &Settings) -> Rebuild {
        Rebuild {
            log: Arc::clone(&self.log),
            hot: Arc::clone(&self.stores.hot),
            statuses: Arc::clone(&self.stores.statuses),
            recovery: Arc::clone(&self.stores.recovery),
            clock: Arc::clone(&self.clock),
            sweep_every: settings.reconciler.sweep_interval,
        }
    }

    /// Lists and replays dead letters.
    pub fn dead_letters(&self) -> DeadLetterService {
        DeadLetterService {
            log: Arc::clone(&self.log),
            hot: Arc::clone(&self.stores.hot),
            index: Arc::clone(&self.stores.dead_letters),
            clock: Arc::clone(&self.clock),
        }
    }

    /// Shows and changes endpoints.
    ///
    /// # Errors
    /// A health URL that is not a URL.
    pub fn endpoints(&self, settings: &Settings, sender: &Arc<dyn Sender>) -> Result<EndpointService, WiringError> {
        Ok(EndpointService {
            log: Arc::clone(&self.log),
            hot: Arc::clone(&self.stores.hot),
            endpoints: Arc::clone(&self.stores.endpoints),
            sender: Arc::clone(sender),
            clock: Arc::clone(&self.clock),
            health_urls: Arc::new(health_urls(settings)?),
        })
    }

    /// Releases what is due, wakes endpoints and writes gauges.
    ///
    /// # Errors
    /// As [`Self::endpoints`].
    pub fn scheduler(&self, settings: &Settings, sender: &Arc<dyn Sender>) -> Result<Scheduler, WiringError> {
        Ok(Scheduler {
            release: self.release(settings),
            rebuild: Arc::new(self.rebuild(settings)),
            endpoints: self.endpoints(settings, sender)?,
            log: Arc::clone(&self.log),
            stats: Arc::clone(&self.stats_buffer),
            poll: settings.scheduler.poll_interval,
        })
    }
}

fn count(setting: u32) -> usize {
    usize::try_from(setting).unwrap_or(usize::MAX)
}
