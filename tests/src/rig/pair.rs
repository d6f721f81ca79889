//! Kafka and Redis of the rig's own, started by `localstack/services`: stopped, paused, killed and flushed at will.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use redis::ConnectionLike;
use settings::{Environment, ProcessEnvironment};
use tokio::sync::OwnedMutexGuard;

/// The first port of a pair is one of these, so many apart. Below what is given to outgoing connections: a port must
/// still be free when what listened there is started again.
const PORTS: std::ops::Range<u16> = 20_000..22_000;
const PORTS_APART: u16 = 20;
/// Where the bus of a Redis cluster listens, beyond the port of the server.
const BUS: u16 = 10_000;

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// The log.
    Kafka,
    /// The store.
    Redis,
}

impl Service {
    /// What `localstack/services` calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kafka => "kafka",
            Self::Redis => "redis",
        }
    }
}

/// What can be done to a process from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Ends it at once.
    Kill,
    /// Asks it to end.
    Terminate,
    /// Freezes it.
    Stop,
    /// Thaws it.
    Continue,
}

/// Sends a signal to a process. One that is gone takes none.
///
/// # Panics
/// When this machine has no `kill`.
pub fn signal(process: u32, signal: Signal) {
    let name = match signal {
        Signal::Kill => "-KILL",
        Signal::Terminate => "-TERM",
        Signal::Stop => "-STOP",
        Signal::Continue => "-CONT",
    };
    Command::new("kill").args([name, &process.to_string()]).output().unwrap();
}

/// The two, in a folder of their own.
#[derive(Debug, Clone)]
pub struct Pair {
    folder: PathBuf,
    first_port: u16,
}

impl Pair {
    fn start() -> Self {
        let folder = repository().join(format!(".howk/faults-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let pair = Self { folder, first_port: free_ports() };
        pair.services(&["up"]);
        pair
    }

    /// Where Kafka is.
    pub fn brokers(&self) -> String {
        format!("127.0.0.1:{}", self.first_port)
    }

    /// Where Redis is.
    pub fn redis(&self) -> String {
        format!("127.0.0.1:{}", self.redis_port())
    }

    /// Where Kafka asks for tokens, and the authority by which it is to be trusted.
    pub fn brokers_with_tokens(&self) -> (String, String) {
        let ca_file = self.folder.join("tls/ca.pem");
        (format!("127.0.0.1:{}", self.first_port + 7), ca_file.display().to_string())
    }

    /// A port for one of the processes that are put to the test.
    ///
    /// # Panics
    /// When there are more of them than ports.
    pub fn port(&self, process: usize) -> u16 {
        self.first_port + 8 + u16::try_from(process).unwrap()
    }

    /// Where the processes may leave their logs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stops a service as an operator would.
    pub fn stop(&self, service: Service) {
        self.services(&["stop", service.name()]);
    }

    /// Starts a service again that was stopped or killed. Kafka has kept its log; Redis begins empty.
    pub fn start_again(&self, service: Service) {
        self.services(&["start", service.name()]);
    }

    /// Sends a signal to a service.
    ///
    /// # Panics
    /// When it was never started.
    pub fn signal(&self, service: Service, what: Signal) {
        signal(self.process(service), what);
    }

    /// Kills a service, and waits until it is gone.
    pub fn kill(&self, service: Service) {
        self.signal(service, Signal::Kill);
        // The script finds no process to stop, or waits for the dying one.
        self.stop(service);
    }

    /// Empties Redis.
    ///
    /// # Panics
    /// When Redis does not answer.
    pub fn flush(&self) {
        let mut connection = self.connection();
        redis::cmd("FLUSHALL").exec(&mut connection).unwrap();
        assert!(connection.is_open());
    }

    /// A connection to Redis itself, beside howk.
    ///
    /// # Panics
    /// When Redis does not answer.
    pub fn connection(&self) -> redis::Connection {
        let client = redis::Client::open(format!("redis://{}", self.redis())).unwrap();
        client.get_connection_with_timeout(Duration::from_secs(5)).unwrap()
    }

    const fn redis_port(&self) -> u16 {
        self.first_port + 5
    }

    /// The process id of a service.
    ///
    /// # Panics
    /// When it was never started.
    pub fn process(&self, service: Service) -> u32 {
        let text = std::fs::read_to_string(self.folder.join(service.name()).join("pid")).unwrap();
        text.trim().parse().unwrap()
    }

    /// The script of this pair, to be run.
    pub fn script(&self, arguments: &[&str]) -> Command {
        let mut script = Command::new(repository().join("localstack/services"));
        script
            .args(arguments)
            .env_remove("HOWK_KAFKA_BROKERS")
            .env_remove("HOWK_REDIS_ADDR")
            .env("SERVICES_FOLDER", &self.folder)
            .env("SERVICES_KAFKA_PORT", self.first_port.to_string())
            .env("SERVICES_CONTROLLER_PORT", (self.first_port + 1).to_string())
            .env("SERVICES_REDIS_PORT", self.redis_port().to_string());
        script
    }

    fn services(&self, arguments: &[&str]) {
        let done = self.script(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "localstack/services {arguments:?} failed: {said}");
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The first of a pair's ports. Runs at the same time begin to look at different places.
fn free_ports() -> u16 {
    let is_free = |port: u16| std::net::TcpListener::bind(("127.0.0.1", port)).is_ok();
    let places = (PORTS.end - PORTS.start) / PORTS_APART;
    let begin = u16::try_from(std::process::id() % u32::from(places)).unwrap();
    let firsts = (0..places).map(|place| PORTS.start + (begin + place) % places * PORTS_APART);
    let all_free = |first: &u16| (*first..*first + PORTS_APART).all(is_free) && is_free(*first + 5 + BUS);
    firsts.into_iter().find(all_free).unwrap()
}

/// The pair of this process, while a test uses it or waits for it.
static SHARED: Mutex<Weak<Shared>> = Mutex::new(Weak::new());

struct Shared {
    turn: Arc<tokio::sync::Mutex<()>>,
    pair: Pair,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // A paused process does not end.
        for service in [Service::Kafka, Service::Redis] {
            self.pair.signal(service, Signal::Continue);
        }
        self.pair.services(&["down"]);
    }
}

/// The pair, for one test alone.
pub struct Turn {
    _turn: OwnedMutexGuard<()>,
    shared: Arc<Shared>,
}

impl std::ops::Deref for Turn {
    type Target = Pair;

    fn deref(&self) -> &Pair {
        &self.shared.pair
    }
}

/// Waits for the pair and hands it out with an empty Redis. Tests of one process take turns with one pair, which ends
/// when none of them wants it any more.
///
/// # Panics
/// When the pair does not start.
pub async fn turn() -> Turn {
    let shared = tokio::task::spawn_blocking(share).await.unwrap();
    let turn = Arc::clone(&shared.turn).lock_owned().await;
    let turn = Turn { _turn: turn, shared };
    let pair = turn.clone();
    // A test that failed may have left them stopped.
    tokio::task::spawn_blocking(move || pair.services(&["up"])).await.unwrap();
    turn.flush();
    turn
}

fn share() -> Arc<Shared> {
    let mut shared = SHARED.lock();
    shared.upgrade().unwrap_or_else(|| {
        let fresh = Arc::new(Shared { turn: Arc::default(), pair: Pair::start() });
        *shared = Arc::downgrade(&fresh);
        fresh
    })
}

/// A number from the environment, for runs that are longer than usual or repeat an earlier one.
///
/// # Panics
/// When the variable is not a number.
pub fn number(name: &str, usual: u64) -> u64 {
    let variables = ProcessEnvironment.variables();
    let text = variables.get(name).filter(|text| !text.is_empty());
    text.map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a whole number")))
}

/// Says something while a long run goes on.
pub fn say(text: &str) {
    use std::io::Write as _;
    // Where it cannot be read, no check needs it.
    writeln!(std::io::stderr(), "faults: {text}").ok();
}
