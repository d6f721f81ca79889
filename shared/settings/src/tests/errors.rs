//! What is said about wrong settings, and that all of it is said at once.

use std::collections::BTreeMap;

use super::{found, line, lines, read, variables};
use crate::ValidationError;
use crate::load::assemble;
use crate::sources::Environment;

#[test]
fn ten_errors_give_ten_lines() {
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
    assert!(all.starts_with("10 errors in the settings:\n  config.yaml:3 api.port: 70000 is not"), "{all}");
    for part in [
        "config.yaml:6 retry.jitter: 1.5 is not between 0 and 1\n",
        "config.yaml:7 retry.base_delay: 10 has no unit: write 10s, or ms, m, h or d\n",
        "config.yaml:8 retry.max_attempts: many is not a whole number between 1 and 100",
        "config.yaml:10 delivery.timeout: -5s is not a duration between 100ms and 10m, such as 10s",
        "config.yaml:11 delivery.dump_requests: yes is not true or false",
        "config.yaml:13 kafka.brokers: 5 is not a list",
        "config.yaml:14 kafka.producer_compression: brotli is not one of lz4, zstd, snappy, gzip, none",
        "config.yaml:4 api.prot: unknown key; did you mean api.port?\n",
        "config.yaml:15 retries: unknown key; did you mean retry?",
    ] {
        assert!(all.contains(part), "{part}\nis not in\n{all}");
    }
}

#[test]
fn variables_and_file_are_reported_together() {
    let pairs = [("HOWK_RETRY_JITTER", "1.5"), ("HOWK_RETRY_JITER", "0.5"), ("PATH", "/bin")];
    let lines = lines("api:\n  port: -1\n", &pairs);
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert_eq!(lines[1], "retry.jitter (HOWK_RETRY_JITTER): 1.5 is not between 0 and 1");
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
        (
            &[("HOWK_DELIVERY_FAST_TIMEOUT", "31s")][..],
            "31s is longer than delivery.timeout, 30s; set it to 30s or less",
        ),
        (
            &[("HOWK_RETRY_BASE_DELAY", "2m"), ("HOWK_RETRY_MAX_DELAY", "1m")],
            "2m is longer than retry.max_delay, 1m; set it to 1m or less",
        ),
        (
            &[("HOWK_KAFKA_GROUP_HEARTBEAT_INTERVAL", "10s")],
            "10s must be shorter than kafka.group_session_timeout, 10s",
        ),
        (&[("HOWK_API_AUTH", "keys")], "keys needs at least one entry in api.keys"),
        (&[("HOWK_API_HOST", "0.0.0.0")], "set api.auth to keys and list them in api.keys"),
        (&[("HOWK_API_HOST", "::1")], "api.host (HOWK_API_HOST): ::1 is not 127.0.0.1, so callers need keys"),
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
        (&[("HOWK_KAFKA_CA_FILE", "ca.pem")], "needs kafka.tls: true; set it"),
        (&[("HOWK_REDIS_CA_FILE", "ca.pem")], "needs redis.tls"),
        (&[("HOWK_REDIS_AUTH", "password")], "password needs redis.password"),
        (&[("HOWK_REDIS_AUTH", "none"), ("HOWK_REDIS_PASSWORD", "p")], "excludes redis.password"),
        (
            &[("HOWK_REDIS_AUTH", "iam"), ("HOWK_REDIS_USERNAME", "ann")],
            "iam needs redis.username and redis.iam_cache",
        ),
        (&[("HOWK_REDIS_IAM_CACHE", "howk")], "is for redis.auth iam"),
        (&[("HOWK_REDIS_IAM_SERVERLESS", "true")], "needs redis.cluster"),
        (&[("HOWK_SCHEDULER_LOCK_TIMEOUT", "1s")], "1s must be longer than scheduler.poll_interval, 1s"),
        (
            &[("HOWK_METRICS_ENABLED", "true"), ("HOWK_METRICS_PORT", "8080")],
            "8080 is api.port too; set it to another port",
        ),
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
fn a_function_does_not_start_while_a_setting_without_default_is_not_decided() {
    let decided: [&[_]; 4] = [&["api.auth"], &["kafka.brokers", "kafka.cluster_arn"], &["redis.addr"], &["api.port"]];
    let (yaml, pairs) = ("api: {auth: none, port: no}", [("HOWK_REDIS_ADDR", ""), ("HOWK_RETRY_JITTER", "2")]);
    let errors = assemble(found(yaml), &variables(&pairs), &decided).checked().expect_err("three");
    let lines: Vec<String> = errors.errors().iter().map(ToString::to_string).collect();
    let [port, jitter, brokers, addr] = lines.as_slice() else { panic!("{lines:#?}") };
    assert!(port.starts_with("config.yaml:1 api.port: no is not a whole number"), "{port}");
    assert!(jitter.starts_with("retry.jitter (HOWK_RETRY_JITTER): 2 is not"), "{jitter}");
    let undecided = "and a function has no default for it";
    let host = "a host and a port, such as localhost:9092";
    let instead = "is not set, nor is kafka.cluster_arn,";
    assert_eq!(
        *brokers,
        format!("kafka.brokers (HOWK_KAFKA_BROKERS): {instead} {undecided}; set it to a list, each item {host}")
    );
    assert_eq!(*addr, format!("redis.addr (HOWK_REDIS_ADDR): is not set, {undecided}; set it to {host}"));
}

#[test]
fn what_shows_in_use_is_listed_with_the_rest_and_what_follows_from_an_error_is_not() {
    let loaded = assemble(found(""), &variables(&[("HOWK_REDIS_AUTH", "password"), ("HOWK_RETRY_JITTER", "2")]), &[]);
    let found = [("redis.password", "needed"), ("retry.jitter", "needed"), ("redis.ca_file", "it cannot be read")];
    let errors =
        loaded.with(found.map(|(key, problem)| ValidationError::of(key, problem))).checked().expect_err("three");
    let lines: Vec<String> = errors.errors().iter().map(ToString::to_string).collect();
    let [jitter, auth, file] = lines.as_slice() else { panic!("{lines:#?}") };
    assert!(jitter.starts_with("retry.jitter (") && auth.starts_with("redis.auth ("), "{lines:#?}");
    assert_eq!(*file, "redis.ca_file (HOWK_REDIS_CA_FILE): it cannot be read");
}

#[test]
fn a_request_is_bounded_by_what_lambda_takes() {
    let of = |bytes: &str| assemble(found(""), &variables(&[("HOWK_API_MAX_REQUEST_SIZE", bytes)]), &[]);
    assert!(of("4669440").on_lambda().checked().is_ok());
    let refused = of("4669441").on_lambda().checked().expect_err("too large").to_string();
    assert!(
        refused.contains("api.max_request_size (HOWK_API_MAX_REQUEST_SIZE): 4669441 is more than the 4669440"),
        "{refused}"
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
fn a_value_that_could_not_be_had_is_one_of_the_errors_and_hides_those_that_follow_from_it() {
    let elsewhere = Elsewhere(variables(&[("HOWK_SECRETS_KEY", "access is denied"), ("HOWK_API_KEYS", "too late")]));
    let errors = assemble(found("api: {auth: keys}"), &elsewhere, &[&["secrets.key"]]).checked().expect_err("three");
    let lines: Vec<String> = errors.errors().iter().map(ToString::to_string).collect();
    let [keys, jitter, key] = lines.as_slice() else { panic!("{lines:#?}") };
    assert_eq!(keys, "api.keys (HOWK_API_KEYS): too late");
    assert!(jitter.starts_with("retry.jitter (HOWK_RETRY_JITTER): 2 is not"), "{jitter}");
    assert_eq!(key, "secrets.key (HOWK_SECRETS_KEY): access is denied");
}

#[test]
fn a_contradiction_stands_where_a_key_of_it_is_set() {
    let both = line("retry:\n  max_delay: 5s\n  base_delay: 1m\n", &[]);
    assert!(both.starts_with("config.yaml:3 retry.base_delay: 1m is longer than retry.max_delay, 5s"), "{both}");
    let one = line("retry:\n\n  max_delay: 5s\n", &[]);
    assert!(one.starts_with("config.yaml:3 retry.max_delay: retry.base_delay 10s is longer"), "{one}");
    let variable = line("", &[("HOWK_RETRY_MAX_DELAY", "5s")]);
    assert!(variable.starts_with("retry.max_delay (HOWK_RETRY_MAX_DELAY): retry.base_delay 10s"), "{variable}");
}

#[test]
fn what_shows_in_use_stands_at_the_line_of_its_key_or_of_the_map_that_holds_it() {
    let yaml = "api:\n  auth: keys\n  keys: &keys\n    k:\n      hash: {hash}\n      config_ids: ['*']\n";
    let yaml = yaml.replace("{hash}", &"0".repeat(64));
    let loaded = assemble(found(&yaml), &variables(&[]), &[]);
    let found = [ValidationError::of("api.keys.k", "cannot be used"), ValidationError::of("redis.tls", "is needed")];
    let errors = loaded.with(found).checked().expect_err("two");
    let lines: Vec<String> = errors.errors().iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["config.yaml:3 api.keys.k: cannot be used", "redis.tls (HOWK_REDIS_TLS): is needed"]);
    assert_eq!(errors.on_one_line(), format!("2 errors in the settings: {}; {}", lines[0], lines[1]));
}

#[test]
fn a_line_is_found_behind_comments_quotes_flows_and_aliases() {
    let yaml = "# first\ndelivery: {\"timeout\": &t 1us,\n  'idle_conn_timeout': *t}\nretry: &r\n  jitter: 7\n";
    let lines = lines(yaml, &[]);
    let [timeout, idle, jitter] = lines.as_slice() else { panic!("{lines:#?}") };
    assert!(timeout.starts_with("config.yaml:2 delivery.timeout: 1us is not between 100ms"), "{timeout}");
    assert!(idle.starts_with("config.yaml:3 delivery.idle_conn_timeout: 1us"), "{idle}");
    assert!(jitter.starts_with("config.yaml:5 retry.jitter: 7"), "{jitter}");
}

#[test]
fn every_unknown_key_is_listed_even_where_there_are_more_than_get_a_line() {
    let yaml = (0..300).map(|n| format!("zz{n}: 1")).collect::<Vec<_>>().join("\n");
    let lines = lines(&yaml, &[]);
    assert_eq!(lines.len(), 300);
    assert!(lines.iter().all(|line| line.ends_with(": unknown key; remove it")), "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("config.yaml:")).count(), 100);
}
