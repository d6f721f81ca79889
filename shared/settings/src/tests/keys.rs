//! Every key: its sources, its default, and the reference.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use serde_json::Value;

use super::{read, variables};
use crate::effective::Origin;
use crate::key::variable;
use crate::kinds::{Kind, span};
use crate::settings::{Settings, reference};

const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// One valid value of each key that is not its default, as a variable holds it and as it is shown.
/// Keys that need others stand in `companions`.
const SAMPLES: &str = r#"
api.host 0.0.0.0
api.port 9091
api.read_timeout 11s
api.write_timeout 12s
api.max_request_size 2048
api.auth keys
api.keys {"k":{"config_ids":["a:*"],"hash":"HASH"}}
kafka.brokers ["a:9092","b:9093"]
kafka.cluster_arn arn:aws:kafka:eu-west-1:123456789012:cluster/howk/0a1b-3
kafka.auth scram
kafka.username ann
kafka.password hunter2
kafka.tls true
kafka.ca_file /etc/kafka/ca.pem
kafka.retention 3d
kafka.per_key_parallelism 4
kafka.topics.pending t.pending
kafka.topics.slow t.slow
kafka.topics.results t.results
kafka.topics.deadletter t.deadletter
kafka.topics.state t.state
kafka.consumer_group other
kafka.consumer_fetch_min_bytes 2
kafka.consumer_fetch_max_wait 250ms
kafka.producer_batch_size 32768
kafka.producer_linger_ms 5
kafka.producer_compression zstd
kafka.group_session_timeout 20s
kafka.group_heartbeat_interval 2s
kafka.group_rebalance_timeout 30s
redis.addr r:6380
redis.auth iam
redis.username ann
redis.password hunter2
redis.db 3
redis.tls true
redis.ca_file /etc/redis/ca.pem
redis.cluster true
redis.iam_cache howk-cache
redis.iam_serverless true
redis.sentinel_addrs ["s:26379"]
redis.sentinel_master_name main
redis.dial_timeout 1s
redis.read_timeout 1s
redis.write_timeout 1s
delivery.timeout 20s
delivery.fast_timeout 3s
delivery.concurrency 128
delivery.allow_private_addresses true
delivery.max_idle_conns 50
delivery.idle_conn_timeout 1m
delivery.tls_handshake_timeout 4s
delivery.user_agent acme (ops@acme.example)
delivery.signatures standard
delivery.dump_requests true
dlq.include_response_body false
retry.base_delay 20s
retry.max_delay 1h
retry.max_attempts 7
retry.jitter 0.5
retry.release_window 2.0
retry.cohorts 4
circuit_breaker.failure_threshold 9
circuit_breaker.failure_window 2m
circuit_breaker.recovery_timeout 10m
circuit_breaker.success_threshold 3
circuit_breaker.on_store_failure open
scheduler.poll_interval 500ms
scheduler.batch_size 100
scheduler.lock_timeout 1m
reconciler.sweep_interval 15m
ttl.circuit_state_ttl 2d
ttl.status_ttl 2d
ttl.stats_ttl 3d
ttl.idempotency_ttl 2d
ttl.retry_data_ttl 14d
concurrency.max_inflight_per_endpoint 10
concurrency.slow_lane_rate 5
concurrency.max_inflight_per_domain 100
concurrency.domain_overrides {"a.com":5}
metrics.enabled true
metrics.port 9191
endpoints {"*.acme.example":{"health_url":"https://api.acme.example/health"}}
secrets.key 0123456789abcdef0123456789abcdef
secrets.previous_keys ["fedcba9876543210fedcba9876543210"]
log.level debug
log.format json
lambda.timeout 2m
lambda.deadline_margin 2s
lambda.partial_responses false
memory.max_bytes 1048576
memory.finished_webhooks 5
memory.dead_letters 6
memory.partitions 2
"#;

fn samples() -> Vec<(String, String)> {
    let lines = SAMPLES.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(key, text)| (key.to_owned(), text.replace("HASH", HASH))).collect()
}

const API_KEYS: (&str, &str) = (
    "HOWK_API_KEYS",
    r#"{"k":{"hash":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","config_ids":["*"]}}"#,
);

/// What must be set together with a key.
fn companions(key: &str) -> &'static [(&'static str, &'static str)] {
    match key {
        "api.auth" => &[API_KEYS],
        "api.host" => &[("HOWK_API_AUTH", "keys"), API_KEYS],
        "kafka.auth" => &[("HOWK_KAFKA_USERNAME", "ann"), ("HOWK_KAFKA_PASSWORD", "p")],
        "kafka.ca_file" => &[("HOWK_KAFKA_TLS", "true")],
        "redis.ca_file" => &[("HOWK_REDIS_TLS", "true")],
        "redis.auth" => &[("HOWK_REDIS_USERNAME", "ann"), ("HOWK_REDIS_IAM_CACHE", "howk")],
        "redis.iam_cache" => &[("HOWK_REDIS_AUTH", "iam"), ("HOWK_REDIS_USERNAME", "ann")],
        "redis.iam_serverless" => &[("HOWK_REDIS_CLUSTER", "true")],
        "redis.username" => &[("HOWK_REDIS_PASSWORD", "p")],
        "redis.sentinel_addrs" => &[("HOWK_REDIS_SENTINEL_MASTER_NAME", "main")],
        "redis.sentinel_master_name" => &[("HOWK_REDIS_SENTINEL_ADDRS", "s:1")],
        _ => &[],
    }
}

/// How a sample is shown.
fn masked(key: &str, text: &str) -> String {
    match key {
        "kafka.password" | "redis.password" | "secrets.key" => "[REDACTED]".to_owned(),
        "secrets.previous_keys" => r#"["[REDACTED]"]"#.to_owned(),
        "api.keys" => text.replace(HASH, "[REDACTED]"),
        _ => text.to_owned(),
    }
}

/// A key as nested YAML; JSON is YAML too, so collections are written as they are.
fn nested(key: &str, text: &str) -> String {
    let mut yaml = String::new();
    let parts: Vec<&str> = key.split('.').collect();
    for (depth, part) in parts.iter().enumerate() {
        write!(yaml, "\n{}{part}:", "  ".repeat(depth)).expect("a String");
    }
    let bare = text.starts_with(['[', '{']) || text.parse::<f64>().is_ok() || matches!(text, "true" | "false");
    let value = if bare { text.to_owned() } else { format!("{text:?}") };
    yaml + " " + &value
}

#[test]
fn the_samples_are_all_keys() {
    let keys: BTreeSet<String> = Settings::default().effective().iter().map(|key| key.key.to_owned()).collect();
    let sampled: BTreeSet<String> = samples().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, sampled);
}

#[test]
fn every_key_can_be_set_by_variable() {
    for (key, text) in samples() {
        let name = variable(&key);
        let mut pairs = companions(&key).to_vec();
        pairs.push((&name, &text));
        let settings = read("", &pairs).unwrap_or_else(|errors| panic!("{key}: {errors}"));
        check_set(&settings, &key, &text, Origin::Environment);
    }
}

#[test]
fn every_key_can_be_set_in_the_file() {
    for (key, text) in samples() {
        let yaml = nested(&key, &text);
        let settings = read(&yaml, companions(&key)).unwrap_or_else(|errors| panic!("{yaml}: {errors}"));
        check_set(&settings, &key, &text, Origin::File);
    }
}

fn check_set(settings: &Settings, key: &str, text: &str, origin: Origin) {
    let effective = settings.effective();
    let found = effective.iter().find(|found| found.key == key).expect("the key");
    assert_eq!((found.value.as_str(), found.origin), (masked(key, text).as_str(), origin), "{key}");
    let default = Settings::default().effective();
    let default = default.iter().find(|default| default.key == key).expect("the key");
    assert_ne!(default.value, found.value, "{key}: the sample must differ from the default");
}

#[test]
fn no_two_keys_share_a_variable() {
    let keys = Settings::default().effective();
    let names: BTreeSet<String> = keys.iter().map(|key| variable(key.key)).collect();
    assert_eq!(names.len(), keys.len());
}

#[test]
fn the_defaults_break_no_rule_and_can_be_set_again() {
    let defaults = Settings::default();
    let shown: Vec<(String, String)> =
        defaults.effective().into_iter().map(|key| (variable(key.key), key.value)).collect();
    let pairs: Vec<(&str, &str)> = shown.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let again = read("", &pairs).expect("the defaults, written out");
    let plain = read("", &[]).expect("the defaults");
    assert_eq!((&again.retry, &again.kafka), (&plain.retry, &plain.kafka));
    let values = |settings: &Settings| settings.effective().into_iter().map(|key| key.value).collect::<Vec<_>>();
    assert_eq!(values(&again), values(&plain));
}

#[test]
fn a_variable_wins_over_the_file_and_the_file_over_the_default() {
    let yaml = "api:\n  port: 7070\nretry:\n  jitter: 0.3\n";
    let settings = read(yaml, &[("HOWK_API_PORT", "9090"), ("HOWK_REDIS_ADDR", "")]).expect("valid");
    assert_eq!(settings.api.port, 9090);
    assert!((settings.retry.jitter - 0.3).abs() < f64::EPSILON);
    assert_eq!(settings.redis.addr, "localhost:6379", "an empty variable counts as not set");
    let origin = |name| settings.effective().into_iter().find(|key| key.key == name).map(|key| key.origin);
    assert_eq!(origin("api.port"), Some(Origin::Environment));
    assert_eq!(origin("retry.jitter"), Some(Origin::File));
    assert_eq!(origin("redis.addr"), Some(Origin::Default));
}

#[test]
fn durations_have_every_form() {
    for (text, expected) in [
        ("10s", Duration::from_secs(10)),
        ("5m", Duration::from_mins(5)),
        ("24h", Duration::from_hours(24)),
        ("1m30s", Duration::from_secs(90)),
        (" 500ms ", Duration::from_millis(500)),
    ] {
        let settings = read("", &[("HOWK_RETRY_BASE_DELAY", text)]).expect(text);
        assert_eq!(settings.retry.base_delay, expected, "{text}");
    }
    let seven = read("ttl:\n  status_ttl: 7d\n", &[]).expect("7d");
    assert_eq!(seven.ttl.status_ttl, Duration::from_hours(168));
    let any = span(Duration::ZERO..=Duration::MAX);
    for zero in [Value::from("0"), Value::from(0)] {
        assert_eq!(any.parse(&zero), Ok(Duration::ZERO));
    }
}

#[test]
fn w2_max_attempts_is_read_and_bounded() {
    assert_eq!(Settings::default().retry.max_attempts, 20);
    assert_eq!(read("retry:\n  max_attempts: 3\n", &[]).expect("valid").retry.max_attempts, 3);
    for text in ["0", "101", "-1", "20.5", "1e99"] {
        let line = super::line("", &[("HOWK_RETRY_MAX_ATTEMPTS", text)]);
        let expected = "is not a whole number between 1 and 100";
        assert_eq!(line, format!("retry.max_attempts (HOWK_RETRY_MAX_ATTEMPTS): {text} {expected}"));
    }
}

#[test]
fn x3_the_payload_of_a_retry_is_kept_for_seven_days_and_never_for_zero() {
    assert_eq!(Settings::default().ttl.retry_data_ttl, Duration::from_hours(168));
    let line = super::line("", &[("HOWK_TTL_RETRY_DATA_TTL", "0")]);
    assert_eq!(line, "ttl.retry_data_ttl (HOWK_TTL_RETRY_DATA_TTL): 0 is not between 1m and 365d");
    let line = super::line("ttl:\n  circuit_state_ttl: 5m\n", &[]);
    assert!(line.contains("ttl.circuit_state_ttl") && line.contains("an open circuit is forgotten"), "{line}");
    let line = super::line("ttl:\n  retry_data_ttl: 1h\n", &[]);
    assert!(line.contains("must not be shorter than retry.max_delay"), "{line}");
}

#[test]
fn the_reference_lists_every_key() {
    let table = reference();
    for key in Settings::default().effective() {
        let row = format!("| `{}` | `{}`", key.key, variable(key.key));
        assert!(table.contains(&row), "{row}\n{table}");
    }
    assert!(
        table.contains("| `retry.base_delay` | `HOWK_RETRY_BASE_DELAY` | `10s` | a duration between 1ms and 1d |")
    );
    assert!(table.contains("| `lua.crypto_keys` | `HOWK_LUA_CRYPTO_KEYS`, `HOWK_LUA_CRYPTO_<NAME>` | scripts"));
    let (settings, ignored) = table.split_once("\n## Ignored keys\n").expect("two tables");
    let rows = |table: &str, columns: usize| {
        let rows: Vec<_> =
            table.lines().filter(|line| line.starts_with("| `")).map(|row| row.replace("\\|", "")).collect();
        assert!(rows.iter().all(|row| row.matches('|').count() == columns + 1), "{rows:#?}");
        rows.len()
    };
    assert_eq!(rows(settings, 5), Settings::default().effective().len());
    assert_eq!(rows(ignored, 3), crate::ignored::IGNORED.len());
}

#[test]
fn an_environment_may_be_a_plain_map() {
    let map = variables(&[("HOWK_API_PORT", "1")]);
    assert_eq!(crate::Environment::variables(&map), map);
}
