//! Settings of the original that steer nothing here.

use super::{line, lines, read};
use crate::ignored::IGNORED;
use crate::key::variable;
use crate::settings::Settings;

#[test]
fn an_ignored_key_is_no_setting_and_stops_no_start_whatever_its_value() {
    let keys = Settings::default().effective();
    for ignored in IGNORED {
        assert!(keys.iter().all(|key| key.key != ignored.key), "{} is a setting too", ignored.key);
        let yaml =
            ignored.key.split('.').rev().fold("[1, x]".to_owned(), |inner, part| format!("{{{part}: {inner}}}"));
        let expected = format!("{} ({})", ignored.key, ignored.reason);
        let settings = read(&yaml, &[]).unwrap_or_else(|errors| panic!("{yaml}: {errors}"));
        assert_eq!(settings.ignored(), Some(expected.clone()));
        let settings = read("", &[(&variable(ignored.key), "no value of its kind")]).expect("valid");
        assert_eq!(settings.ignored(), Some(expected));
    }
    assert!(IGNORED.is_sorted_by_key(|ignored| ignored.key));
}

#[test]
fn one_line_names_every_ignored_key_that_is_set_once() {
    let pairs = [("HOWK_REDIS_POOL_SIZE", "50"), ("HOWK_RETRY_JITTER", "0.3"), ("HOWK_LUA_ENABLED", "")];
    let yaml = "redis:\n  pool_size: 20\ndlq:\n  redact_headers: [X-Secret]\nlua:\n  timeout:\n";
    let expected = "dlq.redact_headers (the values of headers are never shown), \
                    redis.pool_size (there is one connection to each node, which carries everything)";
    assert_eq!(read(yaml, &pairs).expect("valid").ignored().as_deref(), Some(expected));
    assert_eq!(read("", &[]).expect("valid").ignored(), None);
}

#[test]
fn w15_a_variable_of_one_entry_is_known_too() {
    let pairs = [("HOWK_LUA_CRYPTO_B", "pem"), ("HOWK_LUA_ALLOW_HOSTNAME_acme", "a.example")];
    let ignored = read("", &pairs).expect("valid").ignored().unwrap_or_default();
    assert!(ignored.contains("lua.crypto_keys (") && ignored.contains("lua.allow_hosts_by_namespace ("), "{ignored}");
    assert_eq!(lines("", &[("HOWK_LUA_CRYPTO_", "pem")]).len(), 1, "a prefix alone names no entry");
}

#[test]
fn a_misspelt_ignored_key_is_an_error_like_any_other() {
    assert!(line("lua:\n  enabeld: true\n", &[]).ends_with("unknown key; did you mean lua.enabled?"));
}
