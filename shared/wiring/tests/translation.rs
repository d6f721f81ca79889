//! The configurations and policies that settings are translated to.
#![expect(clippy::expect_used, reason = "settings of a test that are wrong fail it")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use clock_system::SystemRandom;
use delivery::ports::time::Clock;
use delivery::ports::vault::Vault;
use domain::{ConfigId, Endpoint, Secret, Timestamp};
use futures::executor::block_on;
use log_kafka::Auth;
use sender_http::{HttpSender, PrivateAddresses};
use settings::{Settings, Sources};
use store_redis::{Login, Topology};
use vault_xchacha::XChaChaVault;

struct NoClock;

#[async_trait]
impl Clock for NoClock {
    fn now(&self) -> Timestamp {
        Timestamp::EPOCH
    }

    async fn sleep(&self, _: Duration) {}
}

fn settings(pairs: &[(&str, &str)]) -> Settings {
    let variables: BTreeMap<String, String> =
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    settings::load(Sources { file: None, environment: &variables }).expect("the test's settings are valid")
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(NoClock)
}

fn vault() -> Arc<dyn Vault> {
    Arc::new(XChaChaVault::ephemeral(Arc::new(SystemRandom)).expect("a vault"))
}

#[test]
fn the_defaults_can_be_used() {
    let settings = settings(&[]);
    assert_eq!(settings.ignored(), None);
    assert_eq!(wiring::policy(&settings).expect("valid"), domain::Policy::default());
    let kafka = block_on(wiring::kafka::config(&settings, clock())).expect("valid");
    let plain = log_kafka::KafkaConfig::new(vec!["localhost:9092".to_owned()]);
    assert_eq!((&kafka.topics, &kafka.group), (&plain.topics, &plain.group));
    assert_eq!((&kafka.producer, &kafka.consumer), (&plain.producer, &plain.consumer));
    assert_eq!(wiring::kafka::topic_specs(&settings), log_kafka::TopicSpec::all(), "infra/topics.json says the same");
    let redis = wiring::redis::config(&settings, clock()).expect("valid");
    assert_eq!((redis.topology, redis.database), (Topology::Single, 0));
    assert_eq!(redis.retention, store_redis::Retention::default());
    let sender = wiring::sender::config(&settings);
    assert_eq!(sender, sender_http::SenderConfig::default());
    HttpSender::new(sender, vault()).expect("it can be built");
}

#[test]
fn every_setting_of_a_policy_reaches_it() {
    let settings = settings(&[
        ("HOWK_RETRY_BASE_DELAY", "20s"),
        ("HOWK_CIRCUIT_BREAKER_RECOVERY_TIMEOUT", "10m"),
        ("HOWK_DELIVERY_TIMEOUT", "20s"),
        ("HOWK_CONCURRENCY_MAX_INFLIGHT_PER_DOMAIN", "7"),
        ("HOWK_CONCURRENCY_DOMAIN_OVERRIDES", r#"{"a.com":5}"#),
        ("HOWK_CIRCUIT_BREAKER_ON_STORE_FAILURE", "open"),
        ("HOWK_DLQ_INCLUDE_RESPONSE_BODY", "false"),
    ]);
    let policy = wiring::policy(&settings).expect("valid");
    assert_eq!(policy.circuit.recovery_timeout(), Duration::from_mins(10));
    assert_eq!(policy.lanes.full_timeout(), Duration::from_secs(20));
    assert_eq!((policy.inflight.of_domain("a.com"), policy.inflight.of_domain("b.com")), (Some(5), Some(7)));
    assert_eq!(policy.on_store_failure, domain::OnStoreFailure::Open);
    assert_eq!(policy.response_body, domain::ResponseBody::Dropped);
    assert_ne!(policy.retry, domain::RetryPolicy::default());
}

#[test]
fn w17_a_domain_limit_of_zero_is_no_limit_and_lifts_the_general_one() {
    let overrides = r#"{"A.com":5,"free.example":0}"#;
    let limits = |general| {
        let pairs =
            [("HOWK_CONCURRENCY_DOMAIN_OVERRIDES", overrides), ("HOWK_CONCURRENCY_MAX_INFLIGHT_PER_DOMAIN", general)];
        let limits = wiring::policy(&settings(&pairs)).expect("valid").inflight;
        ["a.com", "free.example", "other.example"].map(|domain| limits.of_domain(domain))
    };
    assert_eq!(limits("0"), [Some(5), None, None]);
    assert_eq!(limits("9"), [Some(5), None, Some(9)]);
}

#[test]
fn every_codec_is_one_that_the_client_knows() {
    for codec in ["lz4", "zstd", "snappy", "gzip", "none"] {
        let settings = settings(&[("HOWK_KAFKA_PRODUCER_COMPRESSION", codec)]);
        let kafka = block_on(wiring::kafka::config(&settings, clock())).expect("valid");
        assert_eq!(kafka.producer.compression, codec);
    }
}

#[test]
fn the_health_url_of_the_narrowest_pattern_comes_first() {
    let endpoints = r#"{"*":{"health_url":"https://any.example/up"},"*.x.com":{"health_url":"https://x.com/up"},
        "*.a.x.com":{"health_url":"https://a.x.com/up"},"a.x.com":{"health_url":"https://a.x.com/own"}}"#;
    let urls = wiring::health_urls(&settings(&[("HOWK_ENDPOINTS", endpoints)])).expect("valid");
    let of = |domain| urls.of(domain).map(Endpoint::url);
    assert_eq!(of("a.x.com"), Some("https://a.x.com/own"));
    assert_eq!(of("b.a.x.com"), Some("https://a.x.com/up"));
    assert_eq!(of("b.x.com"), Some("https://x.com/up"));
    assert_eq!(of("y.com"), Some("https://any.example/up"));
}

#[test]
fn the_settings_of_the_sender_reach_it() {
    let config = wiring::sender::config(&settings(&[
        ("HOWK_DELIVERY_ALLOW_PRIVATE_ADDRESSES", "true"),
        ("HOWK_DELIVERY_TLS_HANDSHAKE_TIMEOUT", "4s"),
        ("HOWK_DELIVERY_SIGNATURES", "standard"),
    ]));
    assert_eq!(config.address_policy.private, PrivateAddresses::Allowed);
    assert_eq!(config.connect_timeout, Duration::from_secs(4));
    assert_eq!(config.signatures, domain::Signatures::Standard);
}

#[test]
fn the_settings_of_the_log_reach_it() {
    let settings = settings(&[
        ("HOWK_KAFKA_AUTH", "scram"),
        ("HOWK_KAFKA_USERNAME", "ann"),
        ("HOWK_KAFKA_PASSWORD", "p"),
        ("HOWK_KAFKA_TLS", "true"),
        ("HOWK_KAFKA_RETENTION", "1d"),
        ("HOWK_KAFKA_TOPICS_PENDING", "eu.pending"),
        ("HOWK_KAFKA_CONSUMER_FETCH_MAX_WAIT", "20ms"),
    ]);
    let kafka = block_on(wiring::kafka::config(&settings, clock())).expect("valid");
    assert!(matches!(&kafka.security.auth, Auth::Scram(scram) if scram.username == "ann") && kafka.security.tls);
    assert_eq!(kafka.consumer.fetch_wait, Duration::from_millis(20));
    for spec in wiring::kafka::topic_specs(&settings) {
        let kept = spec.config.get("retention.ms").map(String::as_str);
        let compacted = spec.config.get("cleanup.policy").is_some_and(|policy| policy == "compact");
        assert_eq!(kept, (!compacted).then_some("86400000"), "{}", spec.name);
    }
    assert_eq!(wiring::kafka::topic_specs(&settings).first().map(|spec| spec.name.as_str()), Some("eu.pending"));
}

#[test]
fn the_settings_of_the_store_reach_it() {
    let redis = wiring::redis::config(
        &settings(&[
            ("HOWK_REDIS_USERNAME", "ann"),
            ("HOWK_REDIS_PASSWORD", "p"),
            ("HOWK_REDIS_DB", "3"),
            ("HOWK_REDIS_TLS", "true"),
            ("HOWK_TTL_STATUS_TTL", "1h"),
            ("HOWK_TTL_RETRY_DATA_TTL", "2d"),
            ("HOWK_KAFKA_RETENTION", "3d"),
        ]),
        clock(),
    )
    .expect("valid");
    assert!(matches!(&redis.login, Login::Password { user: Some(user), .. } if user == "ann"));
    assert!(redis.tls.is_some());
    assert_eq!(redis.database, 3);
    let days = |days: u64| Duration::from_hours(24 * days);
    assert_eq!((redis.retention.webhook, redis.retention.dead_letters), (days(2), days(3)));
}

#[test]
fn the_store_logs_in_by_iam_over_tls() {
    let redis = wiring::redis::config(
        &settings(&[
            ("HOWK_REDIS_AUTH", "iam"),
            ("HOWK_REDIS_USERNAME", "howk"),
            ("HOWK_REDIS_IAM_CACHE", "howk-cache"),
            ("HOWK_REDIS_IAM_SERVERLESS", "true"),
            ("HOWK_REDIS_CLUSTER", "true"),
        ]),
        clock(),
    )
    .expect("valid");
    assert!(matches!(redis.login, Login::From(_)) && redis.tls.is_some());
    assert_eq!(redis.topology, Topology::Cluster);
}

#[test]
fn the_file_of_certificate_authorities_is_read() {
    let with = |file| settings(&[("HOWK_REDIS_TLS", "true"), ("HOWK_REDIS_CA_FILE", file)]);
    let redis = wiring::redis::config(&with(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")), clock());
    let authorities = redis.expect("it is there").tls.expect("TLS").authorities.expect("it was read");
    assert!(authorities.starts_with(b"[package]"));
    let missing = wiring::redis::config(&with("/nowhere/ca.pem"), clock()).expect_err("it is not there");
    assert!(missing.to_string().starts_with("redis.ca_file: /nowhere/ca.pem cannot be read"), "{missing}");
    let kafka = settings(&[("HOWK_KAFKA_TLS", "true"), ("HOWK_KAFKA_CA_FILE", "ca.pem")]);
    let kafka = block_on(wiring::kafka::config(&kafka, clock())).expect("the client reads it");
    assert_eq!(kafka.security.ca_file.as_deref(), Some("ca.pem"));
}

#[test]
fn sentinels_are_refused_rather_than_ignored() {
    let pairs = [("HOWK_REDIS_SENTINEL_ADDRS", "s:1"), ("HOWK_REDIS_SENTINEL_MASTER_NAME", "main")];
    let refused = wiring::redis::config(&settings(&pairs), clock()).expect_err("sentinels are not asked");
    assert!(refused.to_string().starts_with("redis.sentinel_addrs: sentinels are not asked"), "{refused}");
}

#[test]
fn every_mistake_that_shows_in_use_names_its_key() {
    let settings = settings(&[
        ("HOWK_REDIS_SENTINEL_ADDRS", "s:1"),
        ("HOWK_REDIS_SENTINEL_MASTER_NAME", "main"),
        ("HOWK_REDIS_TLS", "true"),
        ("HOWK_REDIS_CA_FILE", "/nowhere/redis.pem"),
        ("HOWK_KAFKA_TLS", "true"),
        ("HOWK_KAFKA_CA_FILE", "/nowhere/kafka.pem"),
        ("HOWK_KAFKA_CLUSTER_ARN", "arn:aws:kafka:eu-west-1:123456789012:cluster/howk"),
    ]);
    let found = [
        wiring::kafka::mistakes(&settings, clock()),
        wiring::redis::mistakes(&settings, clock()),
        wiring::api::mistakes(&settings),
        wiring::mistakes(&settings),
    ];
    let lines: Vec<String> = found.concat().iter().map(ToString::to_string).collect();
    let [cluster, kafka, sentinels, redis] = lines.as_slice() else { panic!("{lines:#?}") };
    assert!(cluster.starts_with("kafka.cluster_arn (HOWK_KAFKA_CLUSTER_ARN): "), "{cluster}");
    assert!(kafka.starts_with("kafka.ca_file (HOWK_KAFKA_CA_FILE): /nowhere/kafka.pem cannot be read: "), "{kafka}");
    assert!(
        sentinels.starts_with("redis.sentinel_addrs (HOWK_REDIS_SENTINEL_ADDRS): sentinels are not"),
        "{sentinels}"
    );
    assert!(redis.starts_with("redis.ca_file (HOWK_REDIS_CA_FILE): /nowhere/redis.pem cannot be read: "), "{redis}");
}

#[test]
fn the_callers_and_the_bounds_of_a_request_are_as_set() {
    let keys =
        r#"{"k":{"hash":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","config_ids":["*"]}}"#;
    let with_keys = settings(&[("HOWK_API_AUTH", "keys"), ("HOWK_API_KEYS", keys)]);
    assert!(matches!(wiring::api::auth(&with_keys), Ok(http_api::Auth::Keys(keys)) if keys.len() == 1));
    assert!(matches!(wiring::api::auth(&settings(&[])), Ok(http_api::Auth::None)));
    assert_eq!(wiring::api::limits(&settings(&[("HOWK_API_MAX_REQUEST_SIZE", "2048")])).body_bytes_max, 2048);
}

#[test]
fn a_vault_needs_a_key() {
    let random = || Arc::new(SystemRandom);
    let missing = wiring::vault::of(&settings(&[]).secrets, random()).expect_err("no key");
    assert!(missing.to_string().contains("HOWK_SECRETS_KEY"), "{missing}");
    let old = settings(&[("HOWK_SECRETS_KEY", "the old key of 32 characters or more")]);
    let new = settings(&[
        ("HOWK_SECRETS_KEY", "the new key of 32 characters or more"),
        ("HOWK_SECRETS_PREVIOUS_KEYS", "the old key of 32 characters or more"),
    ]);
    let tenant = ConfigId::parse("acme").expect("a config id");
    let sealed = wiring::vault::of(&old.secrets, random()).expect("a vault").seal(&tenant, &Secret::new("s"));
    let vault = wiring::vault::of(&new.secrets, random()).expect("a vault");
    assert_eq!(vault.unseal(&tenant, &sealed.expect("a seal")), Ok(Secret::new("s")));
}

#[test]
fn iam_signs_in_with_the_identity_of_the_process_over_tls() {
    let settings = settings(&[("HOWK_KAFKA_AUTH", "iam")]);
    let kafka = block_on(wiring::kafka::config(&settings, clock())).expect("it needs nothing else");
    assert!(matches!(kafka.security.auth, Auth::Tokens(_)) && kafka.security.tls);
}

#[test]
fn a_wrong_cluster_arn_names_its_key() {
    let arn = "arn:aws:kafka:eu-west-1:123456789012:cluster/howk";
    let settings = settings(&[("HOWK_KAFKA_CLUSTER_ARN", arn)]);
    let refused = block_on(wiring::kafka::config(&settings, clock())).expect_err("it has no id");
    assert_eq!(refused.to_string(), "kafka.cluster_arn");
    let why = std::error::Error::source(&refused).map(ToString::to_string).unwrap_or_default();
    assert!(why.contains("is not the ARN of an MSK cluster"), "{why}");
}
