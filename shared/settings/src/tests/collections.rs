//! Lists and maps, in variables and in the file.

use super::{line, lines, read};
use crate::api::ApiAuth;

#[test]
fn w15_maps_can_be_set_by_variable() {
    let pairs = [
        ("HOWK_CONCURRENCY_DOMAIN_OVERRIDES", r#"{"api.stripe.com":200,"Hooks.Slack.com.":30}"#),
        ("HOWK_ENDPOINTS", r#"{"*":{"health_url":"https://a.example/up"}}"#),
        ("HOWK_LOG_LEVEL", "debug"),
    ];
    let settings = read("", &pairs).expect("valid");
    let overrides = &settings.concurrency.domain_overrides;
    assert_eq!((overrides["api.stripe.com"], overrides["hooks.slack.com"]), (200, 30));
    assert_eq!(settings.endpoints["*"].health_url, "https://a.example/up");
    assert_eq!(settings.log.level.name(), "debug");
}

#[test]
fn w17_overrides_hold_without_a_general_limit() {
    let yaml = "concurrency:\n  domain_overrides:\n    API.Stripe.com: 5\n    free.example: 0\n";
    let limits = read(yaml, &[]).expect("valid").concurrency;
    assert_eq!(limits.max_inflight_per_domain, 0);
    // What 0 means is the domain's rule: the wiring's tests follow it there.
    assert_eq!((limits.domain_overrides["api.stripe.com"], limits.domain_overrides["free.example"]), (5, 0));
}

#[test]
fn w17_a_domain_has_no_port_and_one_spelling() {
    let name = "HOWK_CONCURRENCY_DOMAIN_OVERRIDES";
    for host in ["a.com:443", "https://a.com", "", "a b", "*.com", "me@a.com"] {
        let json = serde_json::json!({ host: 1 }).to_string();
        let line = line("", &[(name, &json)]);
        assert!(line.contains("is not a host without port"), "{line}");
    }
    assert!(line("", &[(name, r#"{"A.com":1,"a.com":2}"#)]).contains("\"a.com\" is given twice"));
    assert_eq!(lines("", &[(name, r#"{"[::1]":1,"127.0.0.1":2,"bücher.example":3}"#)]), Vec::<String>::new());
}

#[test]
fn w16_the_slow_lane_has_a_rate() {
    let line = line("concurrency:\n  slow_lane_rate: 0\n", &[]);
    assert_eq!(line, "config.yaml:2 concurrency.slow_lane_rate: 0 is not a whole number between 1 and 100000");
}

#[test]
fn lists_are_json_or_texts_between_commas() {
    for text in ["a:1,b:2", " a:1 , b:2, ", r#"["a:1","b:2"]"#] {
        let settings = read("", &[("HOWK_KAFKA_BROKERS", text)]).expect(text);
        assert_eq!(settings.kafka.brokers, ["a:1", "b:2"], "{text}");
    }
    let yaml = "kafka:\n  brokers:\n    - a:1\n    - b:2\n";
    assert_eq!(read(yaml, &[]).expect("valid").kafka.brokers, ["a:1", "b:2"]);
    assert_eq!(lines("", &[("HOWK_KAFKA_BROKERS", "a, b:0, c:x")]).len(), 3, "every item is looked at");
    assert!(line("", &[("HOWK_KAFKA_BROKERS", "[\"a:1\"")]).contains("not a JSON list: EOF"));
    assert!(line("", &[("HOWK_KAFKA_BROKERS", ",")]).contains("names no broker"));
}

#[test]
fn api_keys_are_checked_field_by_field() {
    let hash = "AB".repeat(32);
    let json = format!(r#"{{"acme":{{"hash":"{hash}","config_ids":["acme:*"]}}}}"#);
    let api = read("", &[("HOWK_API_AUTH", "keys"), ("HOWK_API_KEYS", &json)]).expect("valid").api;
    assert_eq!(api.auth, ApiAuth::Keys);
    assert_eq!((api.keys["acme"].hash.as_str(), api.keys["acme"].config_ids.len()), ("ab".repeat(32).as_str(), 1));

    let wrong = r#"{"a":{"hash":"short","config_ids":[]},"b":{"hsh":"x"},"c":5}"#;
    let lines = lines("", &[("HOWK_API_KEYS", wrong)]);
    assert_eq!(lines.len(), 4, "{lines:#?}");
    assert!(lines[0].contains("entry \"a\": hash is not the SHA-256"), "{}", lines[0]);
    assert!(lines[1].contains("entry \"a\": config_ids is empty"), "{}", lines[1]);
    assert!(lines[2].contains("entry \"b\": unknown field \"hsh\"; allowed: hash, config_ids"), "{}", lines[2]);
    assert!(lines[3].contains("entry \"c\": must be a map with hash and config_ids"), "{}", lines[3]);
}

#[test]
fn endpoints_take_patterns_with_dots() {
    let yaml = "endpoints:\n  \"*.acme.example\":\n    health_url: https://api.acme.example/up\n";
    let endpoints = read(yaml, &[]).expect("valid").endpoints;
    assert_eq!(endpoints["*.acme.example"].health_url, "https://api.acme.example/up");
    let line = line("", &[("HOWK_ENDPOINTS", r#"{"x":{"health_url":"ftp://a"}}"#)]);
    assert_eq!(
        line,
        "endpoints (HOWK_ENDPOINTS): entry \"x\": health_url: the scheme must be https or http, not \"ftp\""
    );
}

#[test]
fn endpoints_are_named_by_their_domain() {
    let named = |pattern: &str| format!(r#"{{"{pattern}":{{"health_url":"https://a.example/up"}}}}"#);
    for (pattern, kept) in [("*", "*"), ("*.Acme.Example", "*.acme.example"), ("acme.example", "acme.example")] {
        let settings = read("", &[("HOWK_ENDPOINTS", &named(pattern))]).expect(pattern);
        assert_eq!(settings.endpoints.keys().collect::<Vec<_>>(), [kept]);
    }
    for pattern in ["https://acme.example/*", "acme.example:443", "a*.example", "*.", "*.*"] {
        let line = line("", &[("HOWK_ENDPOINTS", &named(pattern))]);
        assert!(line.contains("is not a host without port"), "{line}");
    }
}
