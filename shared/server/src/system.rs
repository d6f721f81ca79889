//! The use-cases of a server over a back end in memory or on services.

use std::sync::Arc;

use clock_system::{SystemClock, SystemRandom};
use delivery::dead_letters::DeadLetterService;
use delivery::deliver::Deliver;
use delivery::endpoints::EndpointService;
use delivery::enqueue::Enqueue;
use delivery::ports::log::{Feed, Log};
use delivery::ports::sender::Sender;
use delivery::ports::time::{Clock, Random};
use delivery::ports::vault::Vault;
use delivery::rebuild::Rebuild;
use delivery::release::Release;
use delivery::scheduler::Scheduler;
use delivery::stats_buffer::StatsBuffer;
use domain::Topic;
use in_memory::{MemoryLimits, MemoryLog, MemoryStore};
use settings::Settings;
use wiring::{Stores, UseCases};

use crate::dry::DrySender;
use crate::dump::DumpingSender;

/// Log and hot state.
#[derive(Clone)]
pub struct Backend {
    /// The log.
    pub log: Arc<dyn Log>,
    /// The hot state.
    pub stores: Stores,
    /// Joins the consumer group of a lane's topic, once for each consumer.
    pub join: Arc<Join>,
    /// Whether the log outlives the process.
    pub lifetime: Lifetime,
}

/// Whether the log outlives the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// The log ends with the process: a graceful shutdown delivers what is pending, and the webhooks that wait are lost.
    Process,
    /// The log lasts: other servers continue, or this one after a restart.
    Lasting,
}

/// Joins the consumer group of a lane's topic. Returns one feed for each consumer.
pub type Join = dyn Fn(Topic) -> anyhow::Result<Vec<Arc<dyn Feed>>> + Send + Sync;

impl Backend {
    /// Log and hot state in memory, with one consumer for each partition. Returns the store too, which the demo wipes.
    pub fn in_memory(limits: &MemoryLimits) -> (Self, Arc<MemoryStore>) {
        let (log, store) = (Arc::new(MemoryLog::new(limits)), Arc::new(MemoryStore::new(limits)));
        let (members, feeds) = (limits.partitions.max(1), Arc::clone(&log));
        let join = move |topic| -> anyhow::Result<Vec<Arc<dyn Feed>>> {
            Ok((0..members).map(|_| -> Arc<dyn Feed> { Arc::new(feeds.join(topic)) }).collect())
        };
        let backend = Self { log, stores: Stores::of(&store), join: Arc::new(join), lifetime: Lifetime::Process };
        (backend, store)
    }
}

/// The adapters to the world outside the back end.
#[derive(Clone)]
pub struct Edges {
    /// Makes the requests.
    pub sender: Arc<dyn Sender>,
    /// Seals and opens secrets.
    pub vault: Arc<dyn Vault>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of random numbers.
    pub random: Arc<dyn Random>,
}

/// How requests are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    /// Over HTTP.
    Real,
    /// Not at all: every request is logged and counts as answered with 200.
    Dry,
}

/// The use-cases.
#[derive(Clone)]
pub struct System {
    /// Log and hot state.
    pub backend: Backend,
    /// Accepts webhooks.
    pub enqueue: Enqueue,
    /// Delivers them.
    pub deliver: Arc<Deliver>,
    /// Releases the webhooks that are due.
    pub release: Release,
    /// Runs the releases, health checks and gauges, second by second.
    pub scheduler: Scheduler,
    /// Rebuilds the hot state.
    pub rebuild: Arc<Rebuild>,
    /// Lists and replays dead letters.
    pub dead_letters: DeadLetterService,
    /// Shows and changes endpoints.
    pub endpoints: EndpointService,
    /// Statistics that are not written yet.
    pub stats_buffer: Arc<StatsBuffer>,
}

impl System {
    /// Builds the use-cases over a back end and this machine's clock and network.
    ///
    /// # Errors
    /// A setting that breaks a rule, or a sender that cannot be built.
    pub fn new(settings: &Settings, backend: Backend, sending: Sending) -> anyhow::Result<Self> {
        let random = Arc::new(SystemRandom);
        let vault = vault(&settings.secrets, Arc::<SystemRandom>::clone(&random))?;
        let sender: Arc<dyn Sender> = match sending {
            Sending::Real => wiring::sender::build(settings, Arc::clone(&vault))?,
            Sending::Dry => Arc::new(DrySender),
        };
        let sender = if settings.delivery.dump_requests { Arc::new(DumpingSender(sender)) } else { sender };
        let edges = Edges { sender, vault, clock: Arc::new(SystemClock), random };
        Self::wire(settings, backend, edges)
    }

    /// Builds the use-cases over a back end and these adapters.
    ///
    /// # Errors
    /// A setting that breaks a rule.
    pub fn wire(settings: &Settings, backend: Backend, edges: Edges) -> anyhow::Result<Self> {
        let Edges { sender, vault, clock, random } = edges;
        let built = UseCases::new(Arc::clone(&backend.log), backend.stores.clone(), clock, random);
        Ok(Self {
            enqueue: built.enqueue(&sender, vault),
            deliver: Arc::new(built.deliver(settings, &sender)?),
            release: built.release(settings),
            scheduler: built.scheduler(settings, &sender)?,
            rebuild: Arc::new(built.rebuild(settings)),
            dead_letters: built.dead_letters(),
            endpoints: built.endpoints(settings, &sender)?,
            stats_buffer: built.stats_buffer,
            backend,
        })
    }
}

/// The limits of the in-memory log and store.
///
/// # Errors
/// A number that does not fit this machine.
pub fn memory_limits(settings: &Settings) -> anyhow::Result<MemoryLimits> {
    let memory = &settings.memory;
    Ok(MemoryLimits {
        bytes_max: memory.max_bytes,
        finished_max: usize::try_from(memory.finished_webhooks)?,
        dead_letters_max: usize::try_from(memory.dead_letters)?,
        partitions: memory.partitions,
    })
}

/// The vault of the configured keys. Without keys the back end is in memory, where sealed secrets end with the process, and a
/// random key will do.
fn vault(secrets: &settings::Secrets, random: Arc<dyn Random>) -> anyhow::Result<Arc<dyn Vault>> {
    let is_set = secrets.key.is_some();
    let vault = if is_set { wiring::vault::of(secrets, random)? } else { wiring::vault::ephemeral(random)? };
    Ok(Arc::new(vault))
}
