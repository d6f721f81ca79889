//! Settings of the original that steer nothing here: the one table of them.
//!
//! A configuration of the original starts howk as it is. Such a key is neither parsed nor checked, and every binary says
//! once, at its start, which of them are set. Called by `load`, which finds those that are set, and by `unknown`, which
//! must not take them for misspelt ones. No value is ever shown: it may be a secret.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::key::variable;

/// A setting of the original that steers nothing here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IgnoredKey {
    /// The key's path in the file: `redis.pool_size`.
    pub(crate) key: &'static str,
    /// Why it steers nothing, or what does instead.
    pub(crate) reason: &'static str,
    /// The prefix of variables that each added one entry to it.
    pub(crate) entries_from: Option<&'static str>,
}

const NO_SCRIPTS: &str = "scripts of tenants do not run yet";
const NO_TRANSFORMERS: &str = "there are no transformers yet";
const NO_HEADERS: &str = "the values of headers are never shown";

/// Every ignored key, in the order of its path.
pub(crate) const IGNORED: [IgnoredKey; 23] = [
    ignored(
        "circuit_breaker.probe_interval",
        "a half-open circuit sends its next probe when the one before ended well",
    ),
    ignored("concurrency.inflight_ttl", "a lease ends a few seconds after the timeout of its request"),
    ignored("delivery.max_conns_per_host", "concurrency.max_inflight_per_endpoint bounds the requests"),
    ignored("dlq.disable_redaction", NO_HEADERS),
    ignored("dlq.redact_headers", NO_HEADERS),
    ignored("kafka.topics.scripts", NO_SCRIPTS),
    IgnoredKey {
        entries_from: Some("HOWK_LUA_ALLOW_HOSTNAME_"),
        ..ignored("lua.allow_hosts_by_namespace", NO_SCRIPTS)
    },
    ignored("lua.allowed_hosts", NO_SCRIPTS),
    IgnoredKey { entries_from: Some("HOWK_LUA_CRYPTO_"), ..ignored("lua.crypto_keys", NO_SCRIPTS) },
    ignored("lua.enabled", NO_SCRIPTS),
    ignored("lua.http_cache_enabled", NO_SCRIPTS),
    ignored("lua.http_cache_ttl", NO_SCRIPTS),
    ignored("lua.http_timeout", NO_SCRIPTS),
    ignored("lua.kv_ttl_default", NO_SCRIPTS),
    ignored("lua.memory_limit_mb", NO_SCRIPTS),
    ignored("lua.timeout", NO_SCRIPTS),
    ignored("redis.min_idle_conns", "there is one connection to each node, which is kept"),
    ignored("redis.pool_size", "there is one connection to each node, which carries everything"),
    ignored("transformer.enabled", NO_TRANSFORMERS),
    ignored("transformer.memory_limit_mb", NO_TRANSFORMERS),
    ignored("transformer.passwd_dirs", NO_TRANSFORMERS),
    ignored("transformer.script_dirs", NO_TRANSFORMERS),
    ignored("transformer.timeout", NO_TRANSFORMERS),
];

const fn ignored(key: &'static str, reason: &'static str) -> IgnoredKey {
    IgnoredKey { key, reason, entries_from: None }
}

impl IgnoredKey {
    fn is_set(&self, file: &Value, variables: &BTreeMap<String, String>) -> bool {
        let in_file = self.key.split('.').try_fold(file, |node, part| node.get(part));
        in_file.is_some_and(|node| *node != Value::Null)
            || variables.iter().any(|(name, text)| !text.is_empty() && self.has_variable(name))
    }

    /// Whether a variable is this key's, or adds an entry to it.
    pub(crate) fn has_variable(&self, name: &str) -> bool {
        let adds_entry = |prefix| name.strip_prefix(prefix).is_some_and(|entry| !entry.is_empty());
        name == variable(self.key) || self.entries_from.is_some_and(adds_entry)
    }
}

/// The ignored keys that are set, in a file of this content or by one of these variables.
pub(crate) fn set(file: &Value, variables: &BTreeMap<String, String>) -> Vec<IgnoredKey> {
    IGNORED.into_iter().filter(|ignored| ignored.is_set(file, variables)).collect()
}
