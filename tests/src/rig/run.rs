//! A whole run: load, faults, the wait for the end, and the books.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clock_system::SystemClock;
use delivery::ports::log::Log;
use delivery::ports::schedule::Schedule;
use delivery::ports::time::Clock;
use domain::{Timestamp, Topic};
use futures::stream::{self, StreamExt};
use store_redis::{RedisConfig, RedisStore, Topology};
use tokio::sync::watch;

use crate::rig::books::{Balance, Books, balance};
use crate::rig::fault::{self, Targets};
use crate::rig::installation::Installation;
use crate::rig::ledger::Ledger;
use crate::rig::load::{self, Accepted, End, Load, Planned};
use crate::rig::pair::{Pair, say};
use crate::rig::receiver::Receiver;

/// How long nothing may come to an end before the rest counts as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(90);
/// From a request to its record, at most: several faults of Kafka in a row, and a producer that gives up after 10 s each
/// time.
const RECORDED_WITHIN: Duration = Duration::from_mins(1);
/// How long leases may last at rest: the longest claim, and some.
const REST_AFTER: Duration = Duration::from_mins(1);
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Statuses asked for at once.
const ASKED_AT_ONCE: usize = 32;

/// How long a caller waits for its answer.
const TIMEOUT: Duration = Duration::from_secs(8);

/// The client of the callers.
///
/// # Panics
/// When it cannot be built.
pub fn client() -> reqwest::Client {
    // Every client needs a TLS provider, even for plain HTTP. Another test may have chosen one; any will do.
    rustls::crypto::ring::default_provider().install_default().ok();
    reqwest::Client::builder().timeout(TIMEOUT).build().unwrap()
}

/// How large a run is.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// What everything is drawn from.
    pub seed: u64,
    /// Webhooks.
    pub webhooks: usize,
    /// Faults.
    pub faults: usize,
    /// How long Kafka stays stopped.
    pub kafka_down: Duration,
}

/// What a run works with.
pub struct Stage {
    /// What is put to the test.
    pub howk: Arc<dyn Installation>,
    /// Its Kafka and Redis.
    pub pair: Pair,
    /// Its receivers.
    pub receiver: Arc<Receiver>,
    /// Its log.
    pub ledger: Ledger,
    /// Who asks it.
    pub client: reqwest::Client,
}

impl Stage {
    /// Posts and strikes at the same time, waits until everything has ended, and balances the books.
    ///
    /// # Panics
    /// When something does not come to an end.
    pub async fn run(&mut self, size: Size) -> Balance {
        let clock = SystemClock;
        let began_at = clock.now();
        let schedule = fault::draw(size.seed, size.faults, size.kafka_down);
        let (done, _) = watch::channel(0);
        let (allow, allowed) = watch::channel(0);
        let load = Load {
            name: format!("run-{}", size.seed),
            planned: load::plan(size.seed, size.webhooks, &self.receiver),
            allowed,
            refused: AtomicU64::new(0),
        };
        let log = Arc::clone(&self.ledger.log);
        let targets = Targets::new(Arc::clone(&self.howk), self.pair.clone(), Arc::clone(&self.receiver), log);
        let client = self.client.clone();
        let under_fire = async {
            futures::join!(
                load.post(&client, &*self.howk),
                targets.strike_all(&schedule, &done),
                pace(&done, &allow, size)
            )
        };
        let (accepted, (), ()) = self.kept_up(under_fire).await;
        let (posted_at, refused) = (clock.now(), load.refused.load(Ordering::Relaxed));
        say(&format!("{} accepted, {refused} times refused, in {:?}", accepted.len(), posted_at.since(began_at)));
        let howk = Arc::clone(&self.howk);
        tokio::select! {
            () = self.wait_for_the_end(&accepted) => {}
            () = keep_up(&*howk) => {}
        }
        say(&format!("all ended {:?} later", clock.now().since(posted_at)));
        self.kept_up(self.wait_for_rest()).await;
        say(&format!("at rest {:?} later", clock.now().since(posted_at)));
        self.check_statuses(&accepted).await;
        self.balance(&accepted, RECORDED_WITHIN.saturating_add(size.kafka_down)).await
    }

    /// Balances the books; a request is recorded within so long, or its process has ended.
    async fn balance(&mut self, accepted: &[Accepted], recorded_within: Duration) -> Balance {
        self.ledger.read_on().await.unwrap();
        let requests = self.receiver.requests();
        let orphans = self.receiver.requests_of(|visitor| {
            let ended = self.howk.ended_at(&visitor.sender).filter(|ended| *ended >= visitor.at);
            ended.is_some_and(|ended| ended.since(visitor.at) <= recorded_within)
        });
        let (entries, records) = (&self.ledger.entries, self.howk.records());
        balance(accepted, Books { requests: &requests, orphans: &orphans, entries, records })
    }

    /// Posts webhooks, each until it is accepted.
    pub async fn post(&self, name: &str, planned: Vec<Planned>) -> Vec<Accepted> {
        let (_allow, allowed) = watch::channel(planned.len());
        let load = Load { name: name.to_owned(), planned, allowed, refused: AtomicU64::new(0) };
        load.post(&self.client, &*self.howk).await
    }

    /// Waits for the end of these webhooks and for rest, and fails unless the books balance.
    ///
    /// # Panics
    /// When they do not.
    pub async fn settle(&mut self, accepted: &[Accepted]) -> Balance {
        self.wait_for_the_end(accepted).await;
        self.wait_for_rest().await;
        let balance = self.balance(accepted, RECORDED_WITHIN).await;
        assert!(balance.mistakes.is_empty(), "{:#?}", balance.mistakes);
        balance
    }

    /// Does something while processes that end by themselves are started again.
    async fn kept_up<T>(&self, act: impl Future<Output = T>) -> T {
        tokio::select! {
            done = act => done,
            () = keep_up(&*self.howk) => unreachable!("it goes on for ever"),
        }
    }

    /// Waits until every accepted webhook has ended, by the log.
    ///
    /// # Panics
    /// When nothing happens for long and some have not.
    pub async fn wait_for_the_end(&mut self, accepted: &[Accepted]) {
        let clock = SystemClock;
        let mut moved_at = clock.now();
        loop {
            match self.ledger.read_on().await {
                Ok(0) => {}
                Ok(_) => moved_at = clock.now(),
                Err(fault) => say(&format!("the log cannot be read: {fault}")),
            }
            let waiting = self.waiting(accepted);
            if waiting.is_empty() {
                return;
            }
            if clock.now().since(moved_at) > STUCK_AFTER {
                self.fail_with(&waiting).await;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn waiting<'a>(&self, accepted: &'a [Accepted]) -> Vec<&'a Accepted> {
        let has_ended =
            |one: &&Accepted| self.ledger.entries.get(&one.id).is_some_and(super::ledger::Entry::has_ended);
        accepted.iter().filter(|one| !has_ended(one)).collect()
    }

    async fn fail_with(&self, waiting: &[&Accepted]) -> ! {
        let mut stuck = Vec::new();
        for one in waiting.iter().take(5) {
            let status = self.ask(0, &format!("/webhooks/{}/status", one.id)).await;
            stuck.push(format!("{one:?}: {status:?}, recorded {:?}", self.ledger.entries.get(&one.id)));
        }
        let (lag, depth) = (self.lag().await, self.store().await.depth(SystemClock.now()).await);
        panic!(
            "DL-1: {} webhooks have not ended, {lag} records are unsettled, the due set holds {depth:?}, such as\n{}",
            waiting.len(),
            stuck.join("\n")
        );
    }

    /// Waits until nothing is left of the work: no record unsettled, nothing due, no lease (LN-1).
    ///
    /// # Panics
    /// When something stays.
    pub async fn wait_for_rest(&self) {
        let store = self.store().await;
        let clock = SystemClock;
        let give_up_at = clock.now().plus(REST_AFTER);
        loop {
            let lag = self.lag().await;
            let depth = store.depth(clock.now()).await.unwrap().waiting;
            let leases = self.leases(clock.now());
            if (lag, depth, leases.len()) == (0, 0, 0) {
                return;
            }
            assert!(
                clock.now() < give_up_at,
                "not at rest: {lag} unsettled, {depth} in the due set, leases {leases:?}"
            );
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// The store itself, beside howk.
    ///
    /// # Panics
    /// When Redis does not answer.
    pub async fn store(&self) -> RedisStore {
        let config =
            RedisConfig { nodes: vec![self.pair.redis()], topology: Topology::Cluster, ..RedisConfig::default() };
        RedisStore::connect(config).await.unwrap()
    }

    /// Records of the lanes that are not settled.
    ///
    /// # Panics
    /// When Kafka does not answer.
    pub async fn lag(&self) -> u64 {
        let log = &self.ledger.log;
        log.lag(Topic::Pending).await.unwrap() + log.lag(Topic::Slow).await.unwrap()
    }

    /// Leases that have not run out, by their key.
    ///
    /// # Panics
    /// When Redis does not answer.
    pub fn leases(&self, now: Timestamp) -> BTreeMap<String, u64> {
        let mut connection = self.pair.connection();
        let keys: Vec<String> = redis::cmd("KEYS").arg("*:inflight").query(&mut connection).unwrap();
        let alive = keys.into_iter().map(|key| {
            let mut count = redis::cmd("ZCOUNT");
            count.arg(&key).arg(format!("({}", now.as_ms())).arg("+inf");
            let count: u64 = count.query(&mut connection).unwrap();
            (key, count)
        });
        alive.filter(|(_, count)| *count > 0).collect()
    }

    /// What howk answers about every webhook is what became of it.
    async fn check_statuses(&self, accepted: &[Accepted]) {
        let wrong: Vec<String> = stream::iter(accepted.iter().enumerate())
            .map(|(number, one)| async move {
                let answer = self.ask_again(number, &format!("/webhooks/{}/status", one.id)).await;
                let state = answer.as_ref().and_then(|answer| answer["state"].as_str()).unwrap_or_default();
                let wanted = if one.planned.end == End::Delivered { "delivered" } else { "exhausted" };
                (state != wanted).then(|| format!("{}: {answer:?}, not {wanted}", one.id))
            })
            .buffer_unordered(ASKED_AT_ONCE)
            .filter_map(|wrong| async { wrong })
            .collect()
            .await;
        assert!(wrong.is_empty(), "{} statuses are wrong, such as {:#?}", wrong.len(), &wrong[..wrong.len().min(5)]);
    }

    /// Asks the next server when one does not answer in time: there are many requests, and the machine may be busy.
    async fn ask_again(&self, turn: usize, path: &str) -> Option<serde_json::Value> {
        for turn in turn..turn + self.howk.processes() {
            if let Some(answer) = self.ask(turn, path).await {
                return Some(answer);
            }
        }
        None
    }

    /// Asks howk for JSON; `None` when there is no answer of status 200.
    pub async fn ask(&self, turn: usize, path: &str) -> Option<serde_json::Value> {
        let answer = self.client.get(format!("{}{path}", self.howk.api(turn))).send().await.ok()?;
        (answer.status() == 200).then_some(())?;
        serde_json::from_str(&answer.text().await.ok()?).ok()
    }
}

/// Starts processes that ended by themselves, as a supervisor does: a server that starts while Kafka is away gives up.
async fn keep_up(howk: &dyn Installation) {
    loop {
        howk.keep_up();
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Lets the load go on with the faults, so that all of it meets some of them.
async fn pace(done: &watch::Sender<usize>, allow: &watch::Sender<usize>, size: Size) {
    let mut done = done.subscribe();
    loop {
        let over = *done.borrow_and_update();
        allow.send_replace(if over >= size.faults {
            size.webhooks
        } else {
            size.webhooks * (over + 1) / (size.faults + 1)
        });
        if over >= size.faults || done.changed().await.is_err() {
            return;
        }
    }
}
