//! Settings of the original that have no effect here, so that every binary can warn of those that are set.

use settings::{Origin, Settings};

/// A setting that was set and has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unused {
    /// The key's path, as `redis.pool_size`.
    pub key: &'static str,
    /// Why it has no effect, or which setting has it instead.
    pub why: &'static str,
}

const UNUSED: [Unused; 7] = [
    Unused {
        key: "circuit_breaker.probe_interval",
        why: "a half-open circuit sends its next probe as soon as the one before succeeded",
    },
    Unused { key: "concurrency.inflight_ttl", why: "a lease outlives its request's timeout by a few seconds" },
    Unused { key: "delivery.max_conns_per_host", why: "concurrency.max_inflight_per_endpoint bounds the requests" },
    Unused { key: "dlq.disable_redaction", why: "the values of headers are never shown" },
    Unused { key: "dlq.redact_headers", why: "the values of headers are never shown" },
    Unused { key: "redis.min_idle_conns", why: "there is one connection to each node, which is kept" },
    Unused { key: "redis.pool_size", why: "there is one connection to each node, which carries everything" },
];

/// Sections in which no setting has an effect.
const UNUSED_SECTIONS: [(&str, &str); 2] =
    [("lua.", "scripts of tenants do not run yet"), ("transformer.", "there are no transformers yet")];

/// The settings that were set and have no effect, for the warnings at the start.
pub fn unused(settings: &Settings) -> Vec<Unused> {
    let set = settings.effective().into_iter().filter(|key| key.origin != Origin::Default);
    set.filter_map(|key| of(key.key)).collect()
}

fn of(key: &'static str) -> Option<Unused> {
    let section = UNUSED_SECTIONS.into_iter().find(|(section, _)| key.starts_with(section));
    let unused = UNUSED.into_iter().find(|unused| unused.key == key);
    unused.or(section.map(|(_, why)| Unused { key, why }))
}
