//! The use-cases, wired to a back end.

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
use sender_http::HttpSender;
use settings::Settings;
use vault_xchacha::XChaChaVault;
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
    /// What becomes of the log when the process ends.
    pub lifetime: Lifetime,
}

/// What becomes of the log when the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// It ends with it: what is pending is worked off before, and the rest is lost.
    Process,
    /// It stays: others go on, or the next start does.
    Beyond,
}

/// Joins the consumer group of a lane's topic, with one member for each consumer.
pub type Join = dyn Fn(Topic) -> anyhow::Result<Vec<Arc<dyn Feed>>> + Send + Sync;

impl Backend {
    /// Everything in memory, with one consumer a partition.
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

/// What the use-cases need of the world.
#[derive(Clone)]
pub struct Edges {
    /// Who makes the requests.
    pub sender: Arc<dyn Sender>,
    /// Who seals secrets.
    pub vault: Arc<dyn Vault>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
}

/// How requests are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    /// For real.
    Real,
    /// Not at all: logged, and answered 200.
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
    /// Releases what is due.
    pub release: Release,
    /// Does everything that is due.
    pub scheduler: Scheduler,
    /// Rebuilds the hot state.
    pub rebuild: Arc<Rebuild>,
    /// Lists and replays dead letters.
    pub dead_letters: DeadLetterService,
    /// Looks after endpoints.
    pub endpoints: EndpointService,
    /// What was counted.
    pub tally: Arc<StatsBuffer>,
}

impl System {
    /// Wires the use-cases to a back end by the settings.
    ///
    /// # Errors
    /// A setting that breaks a rule, or a sender that cannot be built.
    pub fn new(settings: &Settings, backend: Backend, sending: Sending) -> anyhow::Result<Self> {
        let random = Arc::new(SystemRandom);
        let vault = vault(&settings.secrets, Arc::<SystemRandom>::clone(&random))?;
        let sender: Arc<dyn Sender> = match sending {
            Sending::Real => Arc::new(HttpSender::new(wiring::sender::config(settings), Arc::clone(&vault))?),
            Sending::Dry => Arc::new(DrySender),
        };
        let sender = if settings.delivery.dump_requests { Arc::new(DumpingSender(sender)) } else { sender };
        let edges = Edges { sender, vault, clock: Arc::new(SystemClock), random };
        Self::wire(settings, backend, edges)
    }

    /// Wires the use-cases to a back end and to the world.
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
            tally: built.tally,
            backend,
        })
    }
}

/// The vault of the configured keys. Without any, nothing that is sealed outlives this process, so a key of its own will do.
fn vault(secrets: &settings::Secrets, random: Arc<dyn Random>) -> anyhow::Result<Arc<dyn Vault>> {
    let vault =
        if secrets.key.is_some() { wiring::vault::of(secrets, random)? } else { XChaChaVault::ephemeral(random)? };
    Ok(Arc::new(vault))
}
