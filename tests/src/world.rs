//! A world in one thread, on a clock that is moved by hand: processes that can be killed, a store that can be lost.

use std::sync::Arc;
use std::time::Duration;

use delivery::dead_letters::DeadLetterService;
use delivery::deliver::Deliver;
use delivery::endpoints::EndpointService;
use delivery::enqueue::NewWebhook;
use delivery::ports::time::Clock;
use delivery::rebuild::When;
use domain::{
    ClaimHolder, ConfigId, Endpoint, Lane, MAX_ATTEMPTS_DEFAULT, Payload, PayloadKind, Phase, Record, Status,
    Timestamp, WebhookId,
};
use futures::executor::LocalPool;
use futures::future::RemoteHandle;
use futures::task::LocalSpawnExt;
use in_memory::{MemoryLimits, MemoryLog, MemoryStore};
use server::background;
use server::system::{Backend, Edges, Lifetime, System};
use settings::Settings;
use testkit::clock::ManualClock;
use testkit::random::SeededRandom;
use tokio_util::sync::CancellationToken;
use vault_xchacha::XChaChaVault;
use wiring::Stores;

use crate::endpoint::Endpoints;
use crate::outage::Outage;
use crate::witness::Witness;

/// When every world begins: 2026-01-01T00:00:00Z.
pub const BEGIN: Timestamp = Timestamp::from_ms(1_767_225_600_000);

/// One thread, one clock, one log, one store, any number of processes.
pub struct World {
    /// The time.
    pub clock: Arc<ManualClock>,
    /// The log itself.
    pub log: Arc<MemoryLog>,
    /// The outages between the log and howk.
    pub outage: Arc<Outage>,
    /// Everything that was published.
    pub witness: Arc<Witness>,
    /// The hot state.
    pub store: Arc<MemoryStore>,
    /// The receivers.
    pub endpoints: Arc<Endpoints>,
    /// The use-cases.
    pub system: System,
    settings: Settings,
    pool: LocalPool,
    processes: Vec<Vec<RemoteHandle<()>>>,
}

impl World {
    /// A world whose hot state is rebuilt and in which no process runs yet.
    ///
    /// # Panics
    /// When the settings break a rule.
    pub fn new(seed: u64, settings: Settings) -> Self {
        let clock = Arc::new(ManualClock::new(BEGIN));
        let limits = MemoryLimits { finished_max: 1_000_000, dead_letters_max: 1_000_000, ..MemoryLimits::default() };
        let log = Arc::new(MemoryLog::new(&limits));
        let store = Arc::new(MemoryStore::new(&limits));
        let outage = Arc::new(Outage::new(Arc::<MemoryLog>::clone(&log)));
        let witness = Arc::new(Witness::new(Arc::<Outage>::clone(&outage)));
        let endpoints = Arc::new(Endpoints::new(Arc::<ManualClock>::clone(&clock)));
        let edges = Edges {
            sender: Arc::<Endpoints>::clone(&endpoints),
            vault: Arc::new(XChaChaVault::ephemeral(Arc::new(SeededRandom::new(seed))).unwrap()),
            clock: Arc::<ManualClock>::clone(&clock),
            random: Arc::new(SeededRandom::new(seed)),
        };
        let backend = backend(&log, &store, &witness);
        let system = System::wire(&settings, backend, edges).unwrap();
        let (pool, processes) = (LocalPool::new(), Vec::new());
        let mut world = Self { clock, log, outage, witness, store, endpoints, system, settings, pool, processes };
        world.rebuild();
        world
    }

    /// Starts a process: both lanes, a scheduler, a reconciler. Returns its number.
    ///
    /// # Panics
    /// When the settings do not fit.
    pub fn start(&mut self) -> usize {
        let stop = CancellationToken::new();
        let spawner = self.pool.spawner();
        let mut tasks = Vec::new();
        for lane in [Lane::Fast, Lane::Slow] {
            for consumer in background::consumers(&self.system, &self.settings, (lane, &stop)).unwrap() {
                tasks.push(spawner.spawn_local_with_handle(consumer.run()).unwrap());
            }
        }
        let system = self.system.clone();
        let beside = async move {
            futures::join!(system.scheduler.run(None), background::reconcile(&system));
        };
        tasks.push(spawner.spawn_local_with_handle(beside).unwrap());
        self.processes.push(tasks);
        self.processes.len() - 1
    }

    /// Kills a process: its work stops where it stands.
    pub fn kill(&mut self, process: usize) {
        if let Some(tasks) = self.processes.get_mut(process) {
            tasks.clear();
        }
        self.pool.run_until_stalled();
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Lets time pass, and has everything done that is due in it.
    pub fn pass(&mut self, duration: Duration) {
        self.run_until(self.clock.now().plus(duration));
    }

    /// Lets time pass up to a point.
    pub fn run_until(&mut self, end: Timestamp) {
        loop {
            self.pool.run_until_stalled();
            match self.clock.next_wake() {
                Some(wake) if wake <= end => self.clock.advance(wake.since(self.clock.now())),
                Some(_) | None => break,
            }
        }
        self.clock.advance(end.since(self.clock.now()));
        self.pool.run_until_stalled();
    }

    /// Runs a future to its end; time stands still unless the future waits for it.
    ///
    /// # Panics
    /// When the future waits for something that never comes.
    pub fn run<T>(&mut self, future: impl Future<Output = T> + 'static) -> T
    where
        T: 'static,
    {
        let mut handle = self.pool.spawner().spawn_local_with_handle(future).unwrap();
        loop {
            self.pool.run_until_stalled();
            if let Some(result) = futures::FutureExt::now_or_never(&mut handle) {
                return result;
            }
            let wake = self.clock.next_wake().unwrap();
            self.clock.advance(wake.since(self.clock.now()));
        }
    }

    /// Accepts webhooks.
    ///
    /// # Panics
    /// When the log refuses them.
    pub fn enqueue(&mut self, new: Vec<NewWebhook>) -> Vec<WebhookId> {
        let enqueue = self.system.enqueue.clone();
        self.run(async move { enqueue.enqueue(new).await }).unwrap()
    }

    /// Loses the hot state.
    pub fn lose_hot_state(&self) {
        self.store.wipe();
    }

    /// Rebuilds the hot state and returns the fingerprint of what waits.
    ///
    /// # Panics
    /// When that fails.
    pub fn rebuild(&mut self) -> u64 {
        let (rebuild, store) = (Arc::clone(&self.system.rebuild), Arc::clone(&self.store));
        self.run(async move {
            rebuild.run(&ClaimHolder("rebuild".to_owned()), When::Always, None).await.unwrap();
            delivery::ports::recovery::Recovery::fingerprint(&*store).await.unwrap()
        })
    }

    /// The status of a webhook.
    ///
    /// # Panics
    /// When the store fails.
    pub fn status(&mut self, id: &WebhookId) -> Option<Status> {
        let (store, id) = (Arc::clone(&self.store), id.clone());
        self.run(async move {
            let found =
                delivery::ports::statuses::Statuses::statuses(&*store, std::slice::from_ref(&id)).await.unwrap();
            found.into_iter().next().flatten()
        })
    }

    /// The use-case that looks after endpoints.
    pub fn endpoint_service(&self) -> EndpointService {
        self.system.endpoints.clone()
    }

    /// The use-case that replays dead letters.
    pub fn dead_letter_service(&self) -> DeadLetterService {
        self.system.dead_letters.clone()
    }

    /// The use-case of the lanes.
    pub fn deliver(&self) -> Arc<Deliver> {
        Arc::clone(&self.system.deliver)
    }

    /// Webhooks whose end was published: delivered or dead-lettered.
    pub fn ended(&self) -> Vec<(WebhookId, Phase)> {
        let published = self.witness.published();
        let ends = published.into_iter().filter_map(|record| match record {
            Record::Result(result) => Some((result.status.id, result.status.phase)),
            Record::Dispatch(..)
            | Record::DeadLetter(_)
            | Record::Undecodable(_)
            | Record::Waiting(_)
            | Record::Tombstone(..)
            | Record::Setting(_) => None,
        });
        ends.filter(|(_, phase)| phase.is_terminal()).collect()
    }

    /// How many webhooks wait in the due set.
    ///
    /// # Panics
    /// When the store fails.
    pub fn waiting(&mut self) -> u64 {
        let (store, now) = (Arc::clone(&self.store), self.clock.now());
        self.run(async move { delivery::ports::schedule::Schedule::depth(&*store, now).await }).unwrap().waiting
    }
}

fn backend(log: &Arc<MemoryLog>, store: &Arc<MemoryStore>, witness: &Arc<Witness>) -> Backend {
    let feeds = Arc::clone(log);
    Backend {
        log: Arc::<Witness>::clone(witness),
        stores: Stores::of(store),
        join: Arc::new(move |topic| Ok(vec![Arc::new(feeds.join(topic))])),
        lifetime: Lifetime::Process,
    }
}

/// A webhook of tenant `tenant` to `url`.
///
/// # Panics
/// When either is malformed.
pub fn webhook(tenant: &str, url: &str) -> NewWebhook {
    NewWebhook {
        config_id: ConfigId::parse(tenant).unwrap(),
        endpoint: Endpoint::parse(url).unwrap(),
        payload: Payload { bytes: Arc::from(&b"{\"n\":1}"[..]), kind: PayloadKind::Json },
        headers: Vec::new(),
        idempotency_key: None,
        signing_secrets: Vec::new(),
        max_attempts: MAX_ATTEMPTS_DEFAULT,
        retry_on_status: Vec::new(),
        trace: None,
    }
}

/// Settings that keep one tenant's records concurrent, as most tests want them.
pub fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.kafka.per_key_parallelism = 64;
    settings
}
