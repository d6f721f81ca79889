//! The errors of howk's own functions when they cannot start: one log line for the operator, and the same for the
//! Runtime API.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use clock_system::{SystemClock, SystemRandom};
use delivery::ports::time::Clock;
use howk_local::lambda::{Lambda, LambdaConfig, Line, Output, Program};
use howk_local::local::binaries::Places;
use howk_local::spec::StackSpec;
use parking_lot::Mutex;
use serde_json::Value;

use crate::own_redis::OwnRedis;
use crate::rig::built_beside;

/// How long Lambda lets a function start.
const INIT_MAX: Duration = Duration::from_secs(10);
const FUNCTIONS: [&str; 5] = ["enqueue", "fast-lane", "slow-lane", "scheduler", "reconciler"];

/// The functions' binaries behind a Runtime API, all with the same variables.
struct Starting {
    lambda: Lambda,
    lines: Arc<Mutex<Vec<Line>>>,
    variables: BTreeMap<String, String>,
}

impl Starting {
    fn with_variables(pairs: &[(&str, &str)]) -> Self {
        let variables: BTreeMap<String, String> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let paths = Places::around(built_beside().as_deref()).find(FUNCTIONS).unwrap();
        let specs = StackSpec::howk().unwrap().functions.into_iter();
        let program = |spec: howk_local::spec::FunctionSpec| {
            let path = paths[&spec.name].clone();
            Program { spec, path, variables: variables.clone() }
        };
        let lines: Arc<Mutex<Vec<Line>>> = Arc::default();
        let taken = Arc::clone(&lines);
        let lambda = Lambda::new(LambdaConfig {
            programs: specs.map(program).collect(),
            account_concurrency: FUNCTIONS.len(),
            freezes: true,
            output: Output::to(move |line| taken.lock().push(line)),
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
        });
        Self { lambda, lines, variables }
    }

    /// The reason why a function does not start, as reported to the Runtime API.
    async fn refusal(&self, function: &str) -> String {
        self.lambda.warm(function).await.unwrap_err().to_string()
    }

    /// The one line that a function logged as an error.
    fn error_line(&self, function: &str) -> Value {
        let lines = self.lines.lock();
        let parsed = lines.iter().filter(|line| line.function == function);
        let parsed = parsed.map(|line| serde_json::from_str::<Value>(&line.text).expect("JSON on every line"));
        let errors: Vec<Value> = parsed.filter(|line| line["level"] == "ERROR").collect();
        let [error] = errors.as_slice() else { panic!("{errors:#?}") };
        error.clone()
    }

    /// The exit code of the process, started with the variables alone and without a Runtime API.
    fn exit_code(&self, function: &str) -> Option<i32> {
        let program = &Places::around(built_beside().as_deref()).find([function]).unwrap()[function];
        Command::new(program).env_clear().envs(&self.variables).output().unwrap().status.code()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_error_in_the_settings_is_on_one_line_and_known_to_the_platform() {
    let starting = Starting::with_variables(&[
        ("HOWK_RETRY_JITTER", "2"),
        ("HOWK_RETYR_BASE_DELAY", "1s"),
        ("HOWK_KAFKA_BROKERS", "127.0.0.1:1"),
        ("HOWK_KAFKA_TLS", "true"),
        ("HOWK_KAFKA_CA_FILE", "/nowhere/kafka.pem"),
        ("HOWK_KAFKA_AUTH", "scram"),
        ("HOWK_REDIS_ADDR", "127.0.0.1:1"),
        ("HOWK_REDIS_TLS", "true"),
        ("HOWK_REDIS_CA_FILE", "/nowhere/redis.pem"),
        ("HOWK_REDIS_SENTINEL_ADDRS", "127.0.0.1:2"),
        ("HOWK_REDIS_SENTINEL_MASTER_NAME", "one"),
        ("HOWK_API_MAX_REQUEST_SIZE", "8388608"),
    ]);
    for function in FUNCTIONS {
        let reported = starting.refusal(function).await;
        let line = starting.error_line(function);
        let logged = line["message"].as_str().unwrap();
        for part in [
            " errors in the settings: ",
            "retry.jitter (HOWK_RETRY_JITTER): 2 is not",
            "HOWK_RETYR_BASE_DELAY: unknown variable",
            "kafka.auth (HOWK_KAFKA_AUTH): scram needs kafka.username and kafka.password",
            "kafka.ca_file (HOWK_KAFKA_CA_FILE): /nowhere/kafka.pem cannot be read",
            "redis.ca_file (HOWK_REDIS_CA_FILE): /nowhere/redis.pem cannot be read",
            "redis.sentinel_addrs (HOWK_REDIS_SENTINEL_ADDRS): sentinels are not asked: name the server in redis.addr",
            "api.max_request_size (HOWK_API_MAX_REQUEST_SIZE): 8388608 is more than the 4669440 bytes",
        ] {
            assert!(logged.contains(part), "{part}\nis not in {function}'s\n{logged}");
            assert!(
                reported.contains(part),
                "{part}\nwas not reported to the Runtime API by {function}:\n{reported}"
            );
        }
        assert!(reported.contains("howk.settings"), "{reported}");
        assert!(!logged.contains("reached"), "no service was tried: {logged}");
        assert_eq!(logged.matches("kafka.username").count(), 1, "no error is reported twice: {logged}");
        let undecided = usize::from(function == "enqueue");
        assert_eq!(logged.matches("api.auth").count(), undecided, "{function}: {logged}");
        assert_eq!(starting.exit_code(function), Some(78), "{function}");
    }
    starting.lambda.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_function_names_the_ignored_settings_that_are_set_in_one_line() {
    let starting = Starting::with_variables(&[
        ("HOWK_API_AUTH", "none"),
        ("HOWK_KAFKA_BROKERS", "127.0.0.1:1"),
        ("HOWK_REDIS_ADDR", "127.0.0.1:2"),
        ("HOWK_SECRETS_KEY", "a key of the tests, of no other use"),
        ("HOWK_REDIS_POOL_SIZE", "7"),
        ("HOWK_LUA_CRYPTO_MAIN", "not to be shown"),
    ]);
    for function in FUNCTIONS {
        starting.refusal(function).await;
        let lines =
            starting.lines.lock().iter().filter(|line| line.function == function).cloned().collect::<Vec<_>>();
        let ignored: Vec<&str> =
            lines.iter().map(|line| line.text.as_str()).filter(|text| text.contains("redis.pool_size")).collect();
        let [line] = ignored.as_slice() else { panic!("{function}: {ignored:#?}") };
        assert!(line.contains("\"WARN\"") && line.contains("steer nothing: lua.crypto_keys (scripts"), "{line}");
        assert!(lines.iter().all(|line| !line.text.contains("not to be shown")), "{function}: {lines:#?}");
    }
    starting.lambda.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kafka_that_is_not_there_is_named_before_lambda_ends_the_start() {
    let redis = OwnRedis::start().await;
    let starting = Starting::with_variables(&[
        ("HOWK_KAFKA_BROKERS", "127.0.0.1:1"),
        ("HOWK_REDIS_ADDR", &redis.address()),
        ("HOWK_REDIS_CLUSTER", "true"),
    ]);
    let begun = SystemClock.now();
    let reported = starting.refusal("reconciler").await;
    let took = SystemClock.now().since(begun);
    let logged = starting.error_line("reconciler")["message"].as_str().unwrap().to_owned();
    for text in [&reported, &logged] {
        assert!(text.contains("Kafka cannot be reached: no Kafka broker answers: "), "{text}");
        assert!(text.contains("127.0.0.1:1") && text.contains("Connection refused"), "{text}");
        assert!(!text.contains("Redis cannot be reached"), "{text}");
    }
    assert!(took < INIT_MAX, "Lambda would have ended the start before: {took:?}");
    assert_eq!(starting.exit_code("reconciler"), Some(1));
    starting.lambda.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_service_that_is_not_there_is_named_together() {
    let starting = Starting::with_variables(&[
        ("HOWK_KAFKA_BROKERS", "127.0.0.1:1"),
        ("HOWK_REDIS_ADDR", "127.0.0.1:2"),
        ("HOWK_REDIS_CLUSTER", "true"),
    ]);
    let reported = starting.refusal("reconciler").await;
    let logged = starting.error_line("reconciler")["message"].as_str().unwrap().to_owned();
    assert!(reported.contains("howk.start"), "{reported}");
    for text in [&reported, &logged] {
        assert!(text.contains("Kafka cannot be reached: ") && text.contains("; Redis cannot be reached: "), "{text}");
    }
    starting.lambda.shut_down().await;
}
