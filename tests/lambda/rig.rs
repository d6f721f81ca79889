//! What the tests share: Lambda with the scripted function, the state of processes, waits for conditions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clock_system::{SystemClock, SystemRandom};
use howk_local::lambda::{Answer, EnvironmentState, InvokeError, Lambda, LambdaConfig, Line, Output, Phase, Program};
use howk_local::spec::FunctionSpec;
use parking_lot::Mutex;
use rdkafka::ClientConfig;
use rdkafka::producer::{FutureProducer, FutureRecord};
use serde_json::{Value, json};

/// Attempts at a condition, [`PAUSE`] apart. Generous: it only ends a test that has failed already.
const ATTEMPTS: u32 = 1200;
const PAUSE: Duration = Duration::from_millis(25);

/// The name of the scripted function.
pub(crate) const FUNCTION: &str = "scripted";

/// Waits until something holds.
pub(crate) async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    for _ in 0..ATTEMPTS {
        if holds().await {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
    panic!("waited in vain until {what}");
}

/// Waits until something is there.
pub(crate) async fn some<T>(what: &str, found: impl AsyncFn() -> Option<T>) -> T {
    for _ in 0..ATTEMPTS {
        if let Some(found) = found().await {
            return found;
        }
        tokio::time::sleep(PAUSE).await;
    }
    panic!("waited in vain for {what}");
}

/// A scripted function, ended with its test.
pub(crate) struct Rig {
    pub(crate) lambda: Lambda,
    /// The lines that it printed.
    pub(crate) lines: Arc<Mutex<Vec<Line>>>,
}

impl Rig {
    pub(crate) fn new(change: impl FnOnce(&mut FunctionSpec)) -> Self {
        Self::with_account(1000, change)
    }

    pub(crate) fn with_account(account_concurrency: usize, change: impl FnOnce(&mut FunctionSpec)) -> Self {
        let mut spec = FunctionSpec { timeout: Duration::from_secs(20), ..FunctionSpec::new(FUNCTION) };
        change(&mut spec);
        let path = PathBuf::from(env!("CARGO_BIN_EXE_scripted-function"));
        let lines: Arc<Mutex<Vec<Line>>> = Arc::default();
        let taken = Arc::clone(&lines);
        let lambda = Lambda::new(LambdaConfig {
            programs: vec![Program { spec, path, variables: BTreeMap::from([("OWN".to_owned(), "yes".to_owned())]) }],
            account_concurrency,
            freezes: true,
            output: Output::to(move |line| taken.lock().push(line)),
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
        });
        Self { lambda, lines }
    }

    /// A rig whose function does something else instead of starting.
    pub(crate) fn scripted(script: &str) -> Self {
        Self::new(|spec| drop(spec.variables.insert("SCRIPT".to_owned(), script.to_owned())))
    }

    pub(crate) async fn try_invoke(&self, event: Value) -> Result<Answer, InvokeError> {
        self.lambda.invoke(FUNCTION, self.lambda.invocation(Bytes::from(event.to_string()))).await
    }

    pub(crate) async fn invoke(&self, event: Value) -> Value {
        let answer = self.try_invoke(event).await.unwrap();
        assert!(!answer.failed, "{}", String::from_utf8_lossy(&answer.payload));
        serde_json::from_slice(&answer.payload).unwrap()
    }

    pub(crate) async fn echo(&self) -> Value {
        self.invoke(json!({ "do": "echo" })).await
    }

    pub(crate) async fn failure(&self, event: Value) -> Value {
        let answer = self.try_invoke(event).await.unwrap();
        assert!(answer.failed, "{}", String::from_utf8_lossy(&answer.payload));
        serde_json::from_slice(&answer.payload).unwrap()
    }

    pub(crate) fn environments(&self) -> Vec<EnvironmentState> {
        self.lambda.state_of(FUNCTION).unwrap().environments
    }

    /// Waits for an environment in a phase.
    pub(crate) async fn environment(&self, phase: Phase) -> EnvironmentState {
        let found = async || self.environments().into_iter().find(|environment| environment.phase == phase);
        some("an environment", found).await
    }
}

/// The state of a process in /proc: T for a stopped one; none when there is no such process.
pub(crate) fn process_state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The state follows the name, which is in parentheses and may contain any character.
    stat.rsplit(')').next()?.trim().chars().next()
}

/// A path in the folder of the functions' binaries, which is the one above that of the test's own binary.
pub(crate) fn built_beside() -> Option<PathBuf> {
    std::env::current_exe().ok()?.parent()?.parent().map(|folder| folder.join("a-program"))
}

/// Writes a record to a topic, as another program than howk may, and returns its partition and offset.
pub(crate) async fn write(brokers: &[String], topic: &str, value: &[u8]) -> (i32, i64) {
    let producer: FutureProducer = ClientConfig::new()
        .set("bootstrap.servers", brokers.join(","))
        .set("message.max.bytes", "16777216")
        .set("compression.type", "lz4")
        .create()
        .unwrap();
    let record = FutureRecord::to(topic).key("a key").payload(value);
    let written = producer.send(record, Duration::from_secs(30)).await.unwrap();
    (written.partition, written.offset)
}
