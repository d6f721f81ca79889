//! howk as servers without Lambda: the built `howk serve`, in so many processes.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use clock_system::SystemClock;
use delivery::ports::time::Clock;
use domain::Timestamp;
use log_kafka::TopicNames;
use parking_lot::Mutex;

use crate::rig::books::Timeout;
use crate::rig::installation::Installation;
use crate::rig::pair::{Pair, Signal, say, signal};
use crate::rig::run::client;

/// How long the servers may take to be ready.
const LOOKS_MAX: u32 = 600;
const PAUSE: Duration = Duration::from_millis(100);
/// What the servers seal secrets with.
const SECRETS_KEY: &str = "a key for fault runs, which guard no secrets";

/// How long the fast lane waits for a receiver.
pub const FAST_TIMEOUT: Duration = Duration::from_millis(600);

/// How the servers are set up.
#[derive(Debug, Clone)]
pub struct Setup {
    /// How many there are.
    pub count: usize,
    /// What their topics and groups begin with: a run of its own on a shared Kafka.
    pub prefix: String,
    /// Settings, by the name of their variable.
    pub settings: Vec<(&'static str, String)>,
}

impl Setup {
    /// Servers whose times are short, so that much happens in little time.
    pub fn quick(count: usize, prefix: &str) -> Self {
        let settings = [
            ("HOWK_RETRY_BASE_DELAY", "200ms"),
            ("HOWK_RETRY_MAX_DELAY", "2s"),
            ("HOWK_DELIVERY_TIMEOUT", "2s"),
            ("HOWK_CIRCUIT_BREAKER_RECOVERY_TIMEOUT", "500ms"),
            ("HOWK_SCHEDULER_POLL_INTERVAL", "200ms"),
            ("HOWK_SCHEDULER_LOCK_TIMEOUT", "3s"),
            ("HOWK_CONCURRENCY_SLOW_LANE_RATE", "1000"),
            ("HOWK_KAFKA_PER_KEY_PARALLELISM", "16"),
            ("HOWK_KAFKA_PRODUCER_LINGER_MS", "1"),
            ("HOWK_KAFKA_GROUP_SESSION_TIMEOUT", "6s"),
            ("HOWK_KAFKA_GROUP_HEARTBEAT_INTERVAL", "1s"),
            ("HOWK_KAFKA_GROUP_REBALANCE_TIMEOUT", "6s"),
            ("HOWK_REDIS_DIAL_TIMEOUT", "1s"),
            ("HOWK_REDIS_READ_TIMEOUT", "1s"),
            ("HOWK_REDIS_WRITE_TIMEOUT", "1s"),
            ("HOWK_LOG_LEVEL", "info"),
        ];
        let settings = settings.map(|(name, value)| (name, value.to_owned())).to_vec();
        Self { count, prefix: prefix.to_owned(), settings }
            .with("HOWK_DELIVERY_FAST_TIMEOUT", &format!("{}ms", FAST_TIMEOUT.as_millis()))
    }

    /// The same with another setting.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.settings.retain(|(known, _)| *known != name);
        self.settings.push((name, value.to_owned()));
        self
    }

    /// What the topics are called.
    pub fn topics(&self) -> TopicNames {
        TopicNames::prefixed(&self.prefix)
    }

    /// The consumer group of the fast lane.
    pub fn group(&self) -> String {
        format!("{}howk-workers", self.prefix)
    }
}

/// Server processes, killed when this is dropped. Their logs stay in `fault-logs`, beside the built programs.
#[derive(Debug)]
pub struct Servers {
    setup: Setup,
    binary: PathBuf,
    folder: PathBuf,
    places: Vec<Place>,
    brokers: String,
    redis: String,
    /// By name: lives that are over. A life ends before its entry is made, so the time is late rather than early.
    ended: Mutex<BTreeMap<String, Timestamp>>,
    lives: AtomicU32,
}

#[derive(Debug)]
struct Place {
    port: u16,
    process: Mutex<Option<Running>>,
}

/// One life of a server.
#[derive(Debug)]
struct Running {
    child: Child,
    /// What it calls itself in its requests.
    name: String,
}

impl Servers {
    /// Starts them all and waits until each is ready.
    ///
    /// # Panics
    /// When the binary was not built, or a server does not get ready.
    pub async fn start(pair: &Pair, setup: Setup) -> Self {
        let servers = Self::new(pair, setup);
        for process in 0..servers.places.len() {
            servers.start(process);
        }
        for process in 0..servers.places.len() {
            servers.ready(process).await;
        }
        servers
    }

    /// The same, none of them started yet.
    ///
    /// # Panics
    /// When the binary was not built.
    pub fn new(pair: &Pair, setup: Setup) -> Self {
        let place = |process| Place { port: pair.port(process), process: Mutex::default() };
        let folder = beside_tests().join("fault-logs");
        std::fs::create_dir_all(&folder).unwrap();
        for process in 0..setup.count {
            File::create(log_path(&folder, &setup, process)).unwrap();
        }
        Self {
            binary: binary(pair),
            folder,
            places: (0..setup.count).map(place).collect(),
            brokers: pair.brokers(),
            redis: pair.redis(),
            ended: Mutex::default(),
            lives: AtomicU32::new(0),
            setup,
        }
    }

    /// How they are set up.
    pub const fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Waits until a server is ready: the hot state is whole, log and store answer.
    ///
    /// # Panics
    /// When it does not get ready.
    pub async fn ready(&self, process: usize) {
        let (url, client) = (format!("{}/ready", self.api(process)), client());
        for _ in 0..LOOKS_MAX {
            if client.get(&url).send().await.is_ok_and(|answer| answer.status() == 200) {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
        panic!("server {process} did not get ready; the end of its log:\n{}", self.last_words(process));
    }

    /// The id of a server's process, if it runs.
    pub fn process(&self, process: usize) -> Option<u32> {
        self.places[process].process.lock().as_ref().map(|running| running.child.id())
    }

    /// What a server has logged in all its lives.
    pub fn log(&self, process: usize) -> String {
        let path = log_path(&self.folder, &self.setup, process);
        String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
    }

    fn last_words(&self, process: usize) -> String {
        let log = self.log(process);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    fn log_file(&self, process: usize) -> File {
        OpenOptions::new().append(true).open(log_path(&self.folder, &self.setup, process)).unwrap()
    }
}

impl Installation for Servers {
    fn processes(&self) -> usize {
        self.places.len()
    }

    fn api(&self, turn: usize) -> String {
        format!("http://127.0.0.1:{}", self.places[turn % self.places.len()].port)
    }

    fn signal(&self, process: usize, what: Signal) {
        let mut place = self.places[process].process.lock();
        let Some(running) = place.as_mut() else { return };
        signal(running.child.id(), what);
        if matches!(what, Signal::Kill | Signal::Terminate) {
            // The place is free while it ends, which may take its time.
            let mut running = place.take().unwrap();
            drop(place);
            running.child.wait().unwrap();
            self.note_end(&running);
        }
    }

    fn start(&self, process: usize) {
        let place = &self.places[process];
        let topics = self.setup.topics();
        let names = [
            ("HOWK_KAFKA_TOPICS_PENDING", topics.pending),
            ("HOWK_KAFKA_TOPICS_SLOW", topics.slow),
            ("HOWK_KAFKA_TOPICS_RESULTS", topics.results),
            ("HOWK_KAFKA_TOPICS_DEADLETTER", topics.deadletter),
            ("HOWK_KAFKA_TOPICS_STATE", topics.state),
        ];
        let name = format!("howk-{process}-{}", self.lives.fetch_add(1, Ordering::Relaxed));
        let child = Command::new(&self.binary)
            .args(["serve", "--port", &place.port.to_string(), "--kafka", &self.brokers, "--redis", &self.redis])
            .env_clear()
            .envs(names)
            .env("HOWK_KAFKA_CONSUMER_GROUP", self.setup.group())
            .env("HOWK_SECRETS_KEY", SECRETS_KEY)
            .env("HOWK_DELIVERY_USER_AGENT", &name)
            .envs(self.setup.settings.iter().map(|(name, value)| (name, value)))
            .stderr(self.log_file(process))
            .spawn()
            .unwrap();
        *place.process.lock() = Some(Running { child, name });
    }

    fn keep_up(&self) {
        for process in 0..self.places.len() {
            if self.has_ended(process) {
                say(&format!(
                    "server {process} ended by itself: {}",
                    self.log(process).lines().last().unwrap_or_default()
                ));
                self.start(process);
            }
        }
    }

    fn records(&self) -> Timeout {
        Timeout::Endless
    }

    fn ended_at(&self, sender: &str) -> Option<Timestamp> {
        self.ended.lock().get(sender).copied()
    }
}

impl Servers {
    /// Whether a server has ended by itself.
    fn has_ended(&self, process: usize) -> bool {
        let mut place = self.places[process].process.lock();
        let Some(running) = place.as_mut() else { return false };
        let has_ended = running.child.try_wait().unwrap().is_some();
        if has_ended {
            self.note_end(running);
        }
        has_ended
    }

    fn note_end(&self, running: &Running) {
        self.ended.lock().insert(running.name.clone(), SystemClock.now());
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for process in 0..self.places.len() {
            self.signal(process, Signal::Kill);
        }
    }
}

/// Where the build puts programs.
fn beside_tests() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned()
}

fn log_path(folder: &Path, setup: &Setup, process: usize) -> PathBuf {
    folder.join(format!("{}server-{process}.log", setup.prefix))
}

/// A copy of the server that was built beside this test: a build in the middle of a run must not change it.
fn binary(pair: &Pair) -> PathBuf {
    let binary = beside_tests().join("howk");
    assert!(
        binary.exists(),
        "{} is missing: build it with `cargo build -p howk --features services`",
        binary.display()
    );
    let copy = pair.folder().join("howk");
    if !copy.exists() {
        std::fs::copy(binary, &copy).unwrap();
    }
    copy
}
