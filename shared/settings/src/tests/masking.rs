//! No secret is ever shown.

use super::{lines, read};

const SECRET: &str = "correct-horse-battery-staple-0123456789";

#[test]
fn effective_masks_secrets() {
    let pairs = [
        ("HOWK_REDIS_PASSWORD", SECRET),
        ("HOWK_KAFKA_PASSWORD", SECRET),
        ("HOWK_SECRETS_KEY", SECRET),
        ("HOWK_LUA_CRYPTO_KEYS", SECRET),
        ("HOWK_LUA_CRYPTO_B", SECRET),
        ("HOWK_SECRETS_PREVIOUS_KEYS", SECRET),
        ("HOWK_ENDPOINTS", r#"{"*":{"health_url":"https://a.example/up?token=correct-horse"}}"#),
    ];
    let settings = read("", &pairs).expect("valid");
    assert_eq!(settings.secrets.key.as_ref().map(domain::Secret::reveal), Some(SECRET));
    let shown: Vec<String> = settings.effective().iter().map(ToString::to_string).collect();
    let shown = shown.join("\n");
    assert!(shown.contains("redis.password = [REDACTED] (environment)"), "{shown}");
    assert!(shown.contains(r#"secrets.previous_keys = ["[REDACTED]"] (environment)"#), "{shown}");
    assert!(!shown.contains("correct-horse"), "{shown}");
    let debugged = format!("{:?} {:?}", (&settings.redis, &settings.kafka, &settings.secrets), settings.ignored());
    assert!(debugged.contains("lua.crypto_keys") && !debugged.contains("correct-horse"), "{debugged}");
}

#[test]
fn errors_mask_secrets() {
    let quoted = format!("{SECRET:?}");
    let list = format!("[{SECRET:?}]");
    let url = format!("redis://ann:{SECRET}@r:6379");
    let object = format!("{{\"a\":{{\"hash\":{SECRET:?},\"config_ids\":{{\"x\":{SECRET:?}}}}}}}");
    for (name, text) in [
        ("HOWK_API_KEYS", SECRET),
        ("HOWK_API_KEYS", list.as_str()),
        ("HOWK_API_KEYS", quoted.as_str()),
        ("HOWK_API_KEYS", object.as_str()),
        ("HOWK_REDIS_ADDR", url.as_str()),
        ("HOWK_REDIS_PASWORD", SECRET),
        ("HOWK_SECRETS_KEY", "correct-horse"),
        ("HOWK_REDIS_PASSWORD", "correct-horse\u{fffd}"),
    ] {
        let lines = lines("", &[(name, text)]).join("\n");
        assert!(lines.contains(name), "{name} must be an error: {lines}");
        assert!(!lines.contains("correct-horse"), "{lines}");
    }
    let yaml =
        format!("redis:\n  password: [{SECRET}]\n  pasword: {SECRET}\nsecrets: {SECRET}\napi:\n  keys: {SECRET}\n");
    let lines = lines(&yaml, &[]);
    assert_eq!(lines.len(), 4, "{lines:#?}");
    assert!(!lines.join("\n").contains("correct-horse"), "{lines:#?}");
}

#[test]
fn a_number_as_password_asks_for_quotes() {
    let line = super::line("redis:\n  password: 123456\n", &[]);
    assert_eq!(line, "config.yaml:2 redis.password: [REDACTED] is not text: put it in quotes");
}
