//! The program `howk-local` from its command line to its end, on the shared Kafka and a Redis of its own.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;

use howk_local::control::StackState;
use howk_local::invoker::http_client;
use howk_local::lambda::{EnvironmentState, Phase};
use log_kafka::{KafkaConfig, create_topics, delete_topics};
use parking_lot::Mutex;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use settings::{Environment, ProcessEnvironment};
use testkit::generate::fresh_number;
use testkit::receiver::FakeReceiver;

use crate::own_redis::OwnRedis;
use crate::rig::{built_beside, process_state, some, until, write};

/// Enough to spread keys. Few, because the broker keeps files open for each.
const PARTITIONS: u32 = 2;
/// More than fits into an event of 6 MB, in base64.
const POISON_BYTES: usize = 8 << 20;

fn program() -> Command {
    let mut command = Command::new(built_beside().unwrap().with_file_name("howk-local"));
    // With an empty folder of services: `down` and `status` must not find those that the tests run on.
    let nowhere = std::env::temp_dir().join(format!("howk-no-services-{}", std::process::id()));
    command.env_clear().env("PATH", &ProcessEnvironment.variables()["PATH"]).env("SERVICES_FOLDER", nowhere);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// `howk-local up` at work.
struct Up {
    process: Child,
    lines: Arc<Mutex<Vec<String>>>,
    _redis: OwnRedis,
    receiver: FakeReceiver,
    client: Client,
    kafka: KafkaConfig,
    front: String,
    lambda: String,
}

impl Up {
    async fn start(arguments: &[&str]) -> Self {
        let (redis, receiver) = (OwnRedis::start().await, FakeReceiver::start().await);
        let kafka = make_topics().await;
        let mut process = program()
            .args(["up", "--port", "0", "--lambda-port", "0"])
            .args(arguments)
            .envs(variables(&kafka, &redis))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = collect(&mut process);
        let mut up = Self {
            process,
            lines,
            _redis: redis,
            receiver,
            client: http_client().unwrap(),
            kafka,
            front: String::new(),
            lambda: String::new(),
        };
        up.front = up.said("ready: post webhooks to ").await;
        up.lambda = up.said("Lambda's Invoke API and the control API: ").await;
        up
    }

    /// The rest of the first line that contains a text, behind the text.
    async fn said(&self, before: &str) -> String {
        let behind = async || self.lines.lock().iter().find_map(|line| Some(line.split_once(before)?.1.to_owned()));
        some(before, behind).await
    }

    fn port(&self) -> String {
        self.lambda.rsplit(':').next().unwrap().to_owned()
    }

    fn ask(&self, verb: &str) -> Output {
        program().args([verb, "--lambda-port", &self.port()]).output().unwrap()
    }

    async fn post(&self, path: &str) -> Value {
        let body = json!({ "endpoint": self.receiver.url(path), "payload": { "to": path } });
        let url = format!("{}/webhooks/acme/enqueue", self.front);
        let answer = self.client.post(url).body(body.to_string()).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::ACCEPTED);
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }

    async fn state(&self) -> StackState {
        let answer = self.client.get(format!("{}/control/state", self.lambda)).send().await.unwrap();
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }

    /// An environment of a function that has nothing to do.
    async fn idle(&self, function: &str) -> Option<EnvironmentState> {
        let found = self.state().await.functions.into_iter().find(|found| found.name == function)?;
        found.environments.into_iter().find(|one| one.phase == Phase::Idle)
    }

    async fn order(&self, path: &str) -> StatusCode {
        self.client.post(format!("{}/control/{path}", self.lambda)).send().await.unwrap().status()
    }

    async fn change(&self, function: &str, change: Value) -> (StatusCode, Value) {
        let url = format!("{}/control/functions/{function}", self.lambda);
        let answer = self.client.put(url).header("content-type", "application/json").body(change.to_string());
        let answer = answer.send().await.unwrap();
        let status = answer.status();
        (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default())
    }

    /// The processes of every function.
    async fn processes(&self) -> Vec<u32> {
        let functions = self.state().await.functions;
        functions.iter().flat_map(|function| &function.environments).map(|environment| environment.pid).collect()
    }

    fn interrupt(&self) {
        let sent = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for its end, and returns its exit code.
    async fn ended(&mut self) -> Option<i32> {
        let process = Mutex::new(&mut self.process);
        let status = some("the end of howk-local", async || process.lock().try_wait().unwrap()).await;
        assert_eq!(status.signal(), None, "it ended by itself");
        status.code()
    }
}

impl Drop for Up {
    #[expect(clippy::print_stdout, reason = "the output of a program that failed its test")]
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
        let (config, specs) = (self.kafka.clone(), self.kafka.topics.specs());
        // Topics that can't be deleted do no harm.
        drop(std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(delete_topics(&config, &specs)).ok()
        }));
        if std::thread::panicking() {
            println!("{}", self.lines.lock().join("\n"));
        }
    }
}

fn collect(process: &mut Child) -> Arc<Mutex<Vec<String>>> {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let (taken, pipe) = (Arc::clone(&lines), process.stderr.take().unwrap());
    std::thread::spawn(move || {
        BufReader::new(pipe).lines().map_while(Result::ok).for_each(|line| taken.lock().push(line));
    });
    lines
}

async fn make_topics() -> KafkaConfig {
    let environment = ProcessEnvironment.variables();
    let brokers = environment.get("HOWK_KAFKA_BROKERS").expect("HOWK_KAFKA_BROKERS: localstack/services up says it");
    let prefix = format!("test-{}-{}.", std::process::id(), fresh_number());
    let kafka = KafkaConfig::new(brokers.split(',').map(str::to_owned).collect()).prefixed(&prefix);
    let mut specs = kafka.topics.specs();
    for spec in &mut specs {
        spec.partitions = PARTITIONS;
    }
    create_topics(&kafka, &specs).await.unwrap();
    kafka
}

fn variables(kafka: &KafkaConfig, redis: &OwnRedis) -> BTreeMap<&'static str, String> {
    let topics = &kafka.topics;
    BTreeMap::from([
        ("HOWK_KAFKA_BROKERS", kafka.brokers.join(",")),
        ("HOWK_KAFKA_CONSUMER_GROUP", kafka.group.name.clone()),
        ("HOWK_KAFKA_TOPICS_PENDING", topics.pending.clone()),
        ("HOWK_KAFKA_TOPICS_SLOW", topics.slow.clone()),
        ("HOWK_KAFKA_TOPICS_RESULTS", topics.results.clone()),
        ("HOWK_KAFKA_TOPICS_DEADLETTER", topics.deadletter.clone()),
        ("HOWK_KAFKA_TOPICS_STATE", topics.state.clone()),
        ("HOWK_REDIS_ADDR", redis.address()),
    ])
}

async fn until_gone(processes: &[u32]) {
    assert!(!processes.is_empty(), "there were functions");
    until("no process of a function is left", async || processes.iter().all(|pid| process_state(*pid).is_none()))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_is_delivered_and_one_ctrl_c_ends_everything() {
    let mut up = Up::start(&[]).await;
    let ready = up.client.get(format!("{}/ready", up.front)).send().await.unwrap();
    assert_eq!(ready.status(), StatusCode::OK);
    let accepted = up.post("/hook").await;
    let sent = up.receiver.received(1).await;
    assert_eq!(sent[0].header("webhook-id").as_deref(), accepted["webhook_id"].as_str());

    let frozen = async || {
        let functions = up.state().await.functions;
        let idle = functions.iter().flat_map(|function| &function.environments).find(|one| one.phase == Phase::Idle);
        idle.is_some_and(|one| process_state(one.pid) == Some('T'))
    };
    until("an idle function is stopped", frozen).await;
    let status = up.ask("status");
    let shown = text(&status.stdout);
    assert!(status.status.success(), "{shown}");
    for part in [
        "enqueue: ",
        "fast-lane: ",
        "schedule -> scheduler: ",
        &format!("{} -> fast-lane: polling", up.kafka.topics.pending),
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }

    let processes = up.processes().await;
    up.interrupt();
    assert_eq!(up.ended().await, Some(0), "one Ctrl-C ends it in good order");
    assert!(processes.iter().all(|pid| process_state(*pid).is_none()), "with its functions");
    let status = up.ask("status");
    assert_eq!(status.status.code(), Some(1));
    assert!(text(&status.stderr).contains("no stack answers on port"), "{}", text(&status.stderr));
    assert!(up.ask("down").status.success(), "it is no error when there is nothing to stop");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_control_api_causes_failures_and_the_second_ctrl_c_ends_it_at_once() {
    let mut up = Up::start(&["--no-freeze"]).await;
    sources(&up).await;
    environments(&up).await;
    limits(&up).await;
    schedules(&up).await;
    let processes = up.processes().await;
    // The scheduler's invocation lasts as long as its timeout, so a stop in good order takes a while.
    up.interrupt();
    up.said("stopping").await;
    up.interrupt();
    assert_eq!(up.ended().await, Some(1));
    up.said("stopped at once, at the second signal").await;
    until_gone(&processes).await;
}

/// An event source pauses, goes on, and delivers a batch twice.
async fn sources(up: &Up) {
    assert_eq!(up.order("sources/fast-lane/pause").await, StatusCode::NO_CONTENT);
    up.post("/paused").await;
    let source = up.state().await.event_sources.into_iter().find(|source| source.function == "fast-lane").unwrap();
    assert!(source.is_paused, "{source:?}");
    assert_eq!(up.order("sources/fast-lane/duplicate").await, StatusCode::NO_CONTENT);
    assert_eq!(up.order("sources/fast-lane/resume").await, StatusCode::NO_CONTENT);
    up.receiver.received(1).await;
    let twice =
        async || up.state().await.event_sources.iter().any(|one| one.function == "fast-lane" && one.records >= 2);
    until("the batch was delivered twice", twice).await;
    assert_eq!(up.receiver.requests_to("/paused").len(), 1, "and sent once");
}

/// Environments are stopped, let go on, retired and killed.
async fn environments(up: &Up) {
    let idle = some("a lane that has nothing to do", async || up.idle("fast-lane").await).await;
    assert!(!idle.frozen && process_state(idle.pid) != Some('T'), "--no-freeze: {idle:?}");
    for (order, state) in [("freeze", true), ("thaw", false)] {
        assert_eq!(up.order(&format!("environments/{}/{order}", idle.id)).await, StatusCode::NO_CONTENT);
        until(order, async || (process_state(idle.pid) == Some('T')) == state).await;
    }
    assert_eq!(up.order(&format!("environments/{}/retire", idle.id)).await, StatusCode::NO_CONTENT);
    until("it is retired", async || process_state(idle.pid).is_none()).await;
    assert_eq!(up.order(&format!("environments/{}/kill", idle.id)).await, StatusCode::NOT_FOUND, "it is gone");
    let idle = some("another one", async || up.idle("reconciler").await).await;
    assert_eq!(up.order(&format!("environments/{}/explode", idle.id)).await, StatusCode::NOT_FOUND);
    assert_eq!(up.order(&format!("environments/{}/kill", idle.id)).await, StatusCode::NO_CONTENT);
    until("it is killed", async || process_state(idle.pid).is_none()).await;
}

/// A schedule pauses, fires on demand, and goes on.
async fn schedules(up: &Up) {
    assert_eq!(up.order("schedules/reconciler/pause").await, StatusCode::NO_CONTENT);
    let fired = up.state().await.schedules.into_iter().find(|one| one.function == "reconciler").unwrap().handed_over;
    assert_eq!(up.order("schedules/reconciler/fire").await, StatusCode::NO_CONTENT);
    let again =
        async || up.state().await.schedules.iter().any(|one| one.function == "reconciler" && one.handed_over > fired);
    until("it fired", again).await;
    assert_eq!(up.order("schedules/reconciler/resume").await, StatusCode::NO_CONTENT);
}

/// Limits are set, lifted by null, and left alone when absent.
async fn limits(up: &Up) {
    let (status, state) = up.change("enqueue", json!({ "reserved_concurrency": 0, "timeout_ms": 9000 })).await;
    assert_eq!(
        (status, &state["reserved_concurrency"], &state["timeout_ms"]),
        (StatusCode::OK, &json!(0), &json!(9000))
    );
    let throttled = up.client.get(format!("{}/health", up.front)).send().await.unwrap().status();
    assert_eq!(throttled, StatusCode::SERVICE_UNAVAILABLE);
    let (_, state) = up.change("enqueue", json!({ "timeout_ms": 15000 })).await;
    assert_eq!((&state["reserved_concurrency"], &state["timeout_ms"]), (&json!(0), &json!(15000)), "it stays");
    let (_, state) = up.change("enqueue", json!({ "reserved_concurrency": null })).await;
    assert_eq!(state["reserved_concurrency"], Value::Null);
    assert_eq!(up.client.get(format!("{}/health", up.front)).send().await.unwrap().status(), StatusCode::OK);
    assert_eq!(up.change("unknown", json!({})).await.0, StatusCode::NOT_FOUND);
    assert!(up.change("enqueue", json!({ "timeout": 1 })).await.0.is_client_error(), "an unknown key is refused");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_fits_into_no_event_is_logged_and_counted_and_down_ends_the_stack() {
    let mut up = Up::start(&[]).await;
    // howk writes no such record, but another program may.
    let poison = vec![b'x'; POISON_BYTES];
    let (partition, offset) = write(&up.kafka.brokers, &up.kafka.topics.pending, &poison).await;
    let given_up =
        async || up.state().await.event_sources.iter().any(|one| one.function == "fast-lane" && one.given_up == 1);
    until("it is given up", given_up).await;
    let line = up.said("a record is given up").await;
    let topic = &up.kafka.topics.pending;
    for part in [topic, &format!("partition={partition} offset={offset}"), "PayloadSizeExceeded"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(text(&up.ask("status").stdout).contains("1 given up"));
    up.post("/behind").await;
    up.receiver.received(1).await;

    let processes = up.processes().await;
    assert!(up.ask("down").status.success());
    assert_eq!(up.ended().await, Some(0));
    until_gone(&processes).await;
}

#[test]
fn wrong_settings_end_it_before_anything_starts_with_every_error() {
    let ended = program()
        .arg("up")
        .env("HOWK_KAFKA_BROKERS", "127.0.0.1:1")
        .env("HOWK_REDIS_ADDR", "127.0.0.1:1")
        .env("HOWK_RETRY_JITTER", "2")
        .env("HOWK_RETYR_BASE_DELAY", "1s")
        .env("HOWK_KAFKA_AUTH", "iam")
        .env("HOWK_REDIS_SENTINEL_ADDRS", "127.0.0.1:2")
        .env("HOWK_REDIS_SENTINEL_MASTER_NAME", "one")
        .env("HOWK_API_MAX_REQUEST_SIZE", "5000000")
        .output()
        .unwrap();
    let output = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(78), "{output}");
    assert!(output.contains("5 errors in the settings:"), "{output}");
    for part in [
        "retry.jitter (HOWK_RETRY_JITTER): 2 is not",
        "HOWK_RETYR_BASE_DELAY: unknown variable",
        "kafka.auth (HOWK_KAFKA_AUTH): the event sources here",
        "redis.sentinel_addrs (HOWK_REDIS_SENTINEL_ADDRS): sentinels are not asked",
        "api.max_request_size (HOWK_API_MAX_REQUEST_SIZE): 5000000 is more than the 4669440 bytes of a request whose webhook fits into an event",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
}

#[test]
fn bad_usage_has_its_own_exit_code() {
    for arguments in [&["up", "--port", "many"][..], &["stop"], &[]] {
        assert_eq!(program().args(arguments).output().unwrap().status.code(), Some(2), "{arguments:?}");
    }
}
