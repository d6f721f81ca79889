//! What is said about wrong settings, and that all of it is said at once.

use std::collections::BTreeMap;

use super::{found, line, lines, read, variables};
use crate::ValidationError;
use crate::settings::assemble;
use crate::sources::Environment;

#[test]
fn ten_mistakes_give_ten_lines() {
    let yaml = "
api:
  port: 70000
  prot: 1
retry:
  jitter: 1.5
  base_delay: 10
  max_attempts: many
delivery:
  timeout: -5s
  dump_requests: yes
kafka:
  brokers: 5
  producer_compression: brotli
retries: {}
";
    let lines = lines(yaml, &[]);
    assert_eq!(lines.len(), 10, "{lines:#?}");
    let all = read(yaml, &[]).expect_err("ten").to_string();
    assert!(all.starts_with("10 mistakes in the settings:\n  HOWK_API_PORT (api.port): 70000 is not"), "{all}");
    for part in [
        "HOWK_RETRY_JITTER (retry.jitter): 1.5 is not between 0 and 1, in config.yaml",
        "HOWK_RETRY_BASE_DELAY (retry.base_delay): 10 has no unit: write 10s, or ms, m, h or d, in config.yaml",
        "HOWK_RETRY_MAX_ATTEMPTS (retry.max_attempts): many is not a whole number between 1 and 100",
        "HOWK_DELIVERY_TIMEOUT (delivery.timeout): -5s is not a duration between 100ms and 10m, such as 10s",
        "HOWK_DELIVERY_DUMP_REQUESTS (delivery.dump_requests): yes is not true or false",
        "HOWK_KAFKA_BROKERS (kafka.brokers): 5 is not a list",
        "brotli is not one of lz4, zstd, snappy, gzip, none",
        "HOWK_API_PROT (api.prot): unknown key; did you mean api.port?, in config.yaml",
        "HOWK_RETRIES (retries): unknown key; did you mean retry?, in config.yaml",
    ] {
        assert!(all.contains(part), "{part}\nis not in\n{all}");
    }
}

#[test]
fn variables_and_file_are_reported_together() {
    let pairs = [("HOWK_RETRY_JITTER", "1.5"), ("HOWK_RETRY_JITER", "0.5"), ("PATH", "/bin")];
    let lines = lines("api:\n  port: -1\n", &pairs);
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert_eq!(lines[1], "HOWK_RETRY_JITTER (retry.jitter): 1.5 is not between 0 and 1");
    assert_eq!(lines[2], "HOWK_RETRY_JITER: unknown variable; did you mean HOWK_RETRY_JITTER?");
}

#[test]
fn unknown_keys_get_a_suggestion() {
    for (yaml, expected) in [
        ("retry:\n  basedelay: 10s\n", "did you mean retry.base_delay?"),
        ("redis:\n  retry_data_ttl: 7d\n", "did you mean ttl.retry_data_ttl?"),
        ("Retry:\n  jitter: 0.1\n", "did you mean retry?"),
        ("circuitbreaker: {}\n", "did you mean circuit_breaker?"),
        ("retry.jitter: 0.1\n", "without dots"),
        ("retry: 5\n", "is a section: write its keys below it"),
    ] {
        let line = line(yaml, &[]);
        assert!(line.contains(expected), "{line}");
    }
    assert!(!line("zzzzzz: 1\n", &[]).contains("did you mean"));
    assert!(!line("", &[("HOWK_ZZZZZZ", "1")]).contains("did you mean"));
}

#[test]
fn known_variables_that_are_no_keys_pass() {
    let pairs = [("HOWK_TEST_SEED", "1"), ("HOWK_CONFIG", "x.yaml"), ("HOWK_LUA_CRYPTO_X", "pem"), ("HOME", "/")];
    assert_eq!(lines("", &pairs), Vec::<String>::new());
}

#[test]
fn keys_that_contradict_each_other() {
    for (pairs, expected) in [
        (&[("HOWK_DELIVERY_FAST_TIMEOUT", "31s")][..], "must not be longer than delivery.timeout"),
        (&[("HOWK_RETRY_BASE_DELAY", "2m"), ("HOWK_RETRY_MAX_DELAY", "1m")], "longer than retry.max_delay"),
        (&[("HOWK_KAFKA_GROUP_HEARTBEAT_INTERVAL", "10s")], "shorter than kafka.group_session_timeout"),
        (&[("HOWK_API_AUTH", "keys")], "keys needs at least one entry in api.keys"),
        (&[("HOWK_API_HOST", "0.0.0.0")], "set api.auth to keys and list them in api.keys"),
        (&[("HOWK_API_HOST", "::1")], "HOWK_API_HOST (api.host): ::1 is not 127.0.0.1, so callers need keys"),
        (&[("HOWK_API_HOST", "localhost")], "localhost is not an IP address"),
        (
            &[
                ("HOWK_KAFKA_BROKERS", "a:9092"),
                ("HOWK_KAFKA_CLUSTER_ARN", "arn:aws:kafka:eu-west-1:123456789012:cluster/howk/0a1b-3"),
            ],
            "excludes kafka.brokers",
        ),
        (&[("HOWK_KAFKA_CLUSTER_ARN", "howk")], "howk is not the ARN of an MSK cluster"),
        (&[("HOWK_KAFKA_AUTH", "scram")], "scram needs kafka.username and kafka.password"),
        (&[("HOWK_KAFKA_TOPICS_SLOW", "howk.pending")], "already the name of another topic"),
        (&[("HOWK_REDIS_CLUSTER", "true"), ("HOWK_REDIS_DB", "2")], "2 is not 0"),
        (&[("HOWK_REDIS_SENTINEL_ADDRS", "s:1")], "set both or neither"),
        (&[("HOWK_REDIS_USERNAME", "ann")], "needs redis.password too"),
        (&[("HOWK_KAFKA_CA_FILE", "ca.pem")], "needs kafka.tls"),
        (&[("HOWK_REDIS_CA_FILE", "ca.pem")], "needs redis.tls"),
        (&[("HOWK_REDIS_AUTH", "password")], "password needs redis.password"),
        (&[("HOWK_REDIS_AUTH", "none"), ("HOWK_REDIS_PASSWORD", "p")], "excludes redis.password"),
        (
            &[("HOWK_REDIS_AUTH", "iam"), ("HOWK_REDIS_USERNAME", "ann")],
            "iam needs redis.username and redis.iam_cache",
        ),
        (&[("HOWK_REDIS_IAM_CACHE", "howk")], "is for redis.auth iam"),
        (&[("HOWK_REDIS_IAM_SERVERLESS", "true")], "needs redis.cluster"),
        (&[("HOWK_REDIS_POOL_SIZE", "5")], "10 is more than redis.pool_size, 5"),
        (&[("HOWK_CONCURRENCY_INFLIGHT_TTL", "30s")], "must be longer than delivery.timeout"),
        (&[("HOWK_SCHEDULER_LOCK_TIMEOUT", "1s")], "must be longer than scheduler.poll_interval"),
        (&[("HOWK_TRANSFORMER_ENABLED", "true")], "needs at least one folder"),
        (&[("HOWK_METRICS_ENABLED", "true"), ("HOWK_METRICS_PORT", "8080")], "8080 is api.port too"),
    ] {
        let line = line("", pairs);
        assert!(line.contains(expected), "{line}");
    }
}

#[test]
fn a_wrong_key_does_not_also_contradict() {
    let pairs = [("HOWK_DELIVERY_TIMEOUT", "soon"), ("HOWK_DELIVERY_FAST_TIMEOUT", "40s")];
    assert!(line("", &pairs).contains("soon is not a duration"));
}

#[test]
fn bounds_of_the_release_window_and_concurrency() {
    for (name, low, high) in [
        ("HOWK_RETRY_RELEASE_WINDOW", "0.9", "10.1"),
        ("HOWK_RETRY_JITTER", "-0.1", "NaN"),
        ("HOWK_DELIVERY_CONCURRENCY", "0", "10001"),
        ("HOWK_API_PORT", "-1", "65536"),
    ] {
        for text in [low, high] {
            assert!(line("", &[(name, text)]).contains(text), "{name}={text}");
        }
    }
    assert!(read("", &[("HOWK_RETRY_RELEASE_WINDOW", "1"), ("HOWK_DELIVERY_CONCURRENCY", "10000")]).is_ok());
}

#[test]
fn a_function_is_told_of_everything_that_nobody_decided() {
    let decided: [&[_]; 4] = [&["api.auth"], &["kafka.brokers", "kafka.cluster_arn"], &["redis.addr"], &["api.port"]];
    let (yaml, pairs) = ("api: {auth: none, port: no}", [("HOWK_REDIS_ADDR", ""), ("HOWK_RETRY_JITTER", "2")]);
    let errors = assemble(found(yaml), &variables(&pairs), &decided).checked().expect_err("three");
    let lines: Vec<String> = errors.mistakes().iter().map(ToString::to_string).collect();
    let [port, jitter, brokers, addr] = lines.as_slice() else { panic!("{lines:#?}") };
    assert!(port.starts_with("HOWK_API_PORT (api.port): no is not a whole number"), "{port}");
    assert!(jitter.starts_with("HOWK_RETRY_JITTER (retry.jitter): 2 is not"), "{jitter}");
    let undecided = "and a function has no default for it";
    let host = "a host and a port, such as localhost:9092";
    let instead = "is not set, nor is kafka.cluster_arn,";
    assert_eq!(
        *brokers,
        format!("HOWK_KAFKA_BROKERS (kafka.brokers): {instead} {undecided}: a list, each item {host}")
    );
    assert_eq!(*addr, format!("HOWK_REDIS_ADDR (redis.addr): is not set, {undecided}: {host}"));
}

#[test]
fn what_shows_in_use_is_told_with_the_rest_and_what_follows_from_a_mistake_is_not() {
    let loaded = assemble(found(""), &variables(&[("HOWK_REDIS_AUTH", "password"), ("HOWK_RETRY_JITTER", "2")]), &[]);
    let found = [("redis.password", "needed"), ("retry.jitter", "needed"), ("redis.ca_file", "it cannot be read")];
    let errors =
        loaded.with(found.map(|(key, problem)| ValidationError::of(key, problem))).checked().expect_err("three");
    let lines: Vec<String> = errors.mistakes().iter().map(ToString::to_string).collect();
    let [jitter, auth, file] = lines.as_slice() else { panic!("{lines:#?}") };
    assert!(jitter.contains("(retry.jitter)") && auth.contains("(redis.auth)"), "{lines:#?}");
    assert_eq!(*file, "HOWK_REDIS_CA_FILE (redis.ca_file): it cannot be read");
}

#[test]
fn a_request_is_bounded_by_what_lambda_takes() {
    let of = |bytes: &str| assemble(found(""), &variables(&[("HOWK_API_MAX_REQUEST_SIZE", bytes)]), &[]);
    assert!(of("4669440").on_lambda().checked().is_ok());
    let told = of("4669441").on_lambda().checked().expect_err("too large").to_string();
    assert!(
        told.contains("HOWK_API_MAX_REQUEST_SIZE (api.max_request_size): 4669441 is more than the 4669440"),
        "{told}"
    );
    assert!(of("4669441").checked().is_ok(), "a server has no such bound");
}

/// Variables, of which some stand elsewhere.
struct Elsewhere(BTreeMap<String, String>);

impl Environment for Elsewhere {
    fn variables(&self) -> BTreeMap<String, String> {
        variables(&[("HOWK_RETRY_JITTER", "2"), ("HOWK_API_KEYS", "not JSON")])
    }

    fn unavailable(&self) -> BTreeMap<String, String> {
        self.0.clone()
    }
}

#[test]
fn a_value_that_could_not_be_had_is_one_of_the_mistakes_and_hides_those_that_follow_from_it() {
    let elsewhere = Elsewhere(variables(&[("HOWK_SECRETS_KEY", "access is denied"), ("HOWK_API_KEYS", "too late")]));
    let errors = assemble(found("api: {auth: keys}"), &elsewhere, &[&["secrets.key"]]).checked().expect_err("three");
    let lines: Vec<String> = errors.mistakes().iter().map(ToString::to_string).collect();
    let [keys, jitter, key] = lines.as_slice() else { panic!("{lines:#?}") };
    assert_eq!(keys, "HOWK_API_KEYS (api.keys): too late");
    assert!(jitter.starts_with("HOWK_RETRY_JITTER (retry.jitter): 2 is not"), "{jitter}");
    assert_eq!(key, "HOWK_SECRETS_KEY (secrets.key): access is denied");
}
