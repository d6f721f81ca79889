//! The keys: the store reads and writes these and no others.
//!
//! The text in braces decides the slot, so the keys of one script share it. The prefix stands outside of the braces: it
//! separates the keys of tests that share one Redis and never the slots of one script. A time to live only collects keys
//! that are not used any more; keys of waiting webhooks have none.

use domain::{ConfigId, EndpointHash, WebhookId};

/// The shards of the retry schedule: sixteen, so that up to sixteen nodes share it, and one look at all of them is still one
/// small round trip.
pub const DUE_SHARDS: u8 = 16;

/// Every kind of key and what it holds.
pub const DOCUMENTED: [(&str, &str); 20] = [
    (
        "{wh:<id>}",
        "hash: claim, status, the last attempts (a:<dispatch><number>), dead (the tenant whose index has its dead letter)",
    ),
    (
        "{ep:<hash>}",
        "hash: version, circuit, cooldown, counts by time (bucket:<start>), tokens, url; absent for a healthy endpoint",
    ),
    ("{ep:<hash>}:inflight", "zset: holders of in-flight leases, by expiry"),
    ("{ep:<hash>}:settings", "set: tenants whose setting is not active, or for whom webhooks are held"),
    (
        "{ep:<hash>}:setting:<config_id>",
        "string: the setting for one tenant (active, paused, disabled, gone), and when it was decided",
    ),
    ("{ep:<hash>}:held:<config_id>", "hash: the held webhooks of one tenant, by id; no time to live"),
    ("{host:<host>}:inflight", "zset: holders of in-flight leases, by expiry"),
    ("{due:NN}:at", "zset: the waiting webhooks of one shard, by due time or end of lease; no time to live"),
    ("{due:NN}:records", "hash: dispatch and compressed record of each waiting webhook, by id; no time to live"),
    ("{due:NN}:leases", "hash: token of the scheduler that leased a webhook, by id; no time to live"),
    ("{dead:<config_id>}:at", "zset: the dead letters of one tenant, by time"),
    ("{dead:<config_id>}:ids", "hash: the same dead letters by webhook, each with the end of its lease"),
    ("dead:configs", "set: tenants with dead letters; no time to live"),
    ("endpoints:unhealthy", "zset: endpoints that may be unhealthy; no time to live"),
    ("stats:<YYYYMMDDHH>", "hash: the counters of one hour, UTC"),
    (
        "{hll}:<YYYYMMDDHH>",
        "HyperLogLog: the endpoints of one hour; all hours share a slot, because they are counted together",
    ),
    ("{system}:epoch", "string: the epoch: the hot state is rebuilt; no time to live"),
    ("{system}:rebuild", "hash: holder, until, fence and cursor of the rebuild; no time to live"),
    ("kv:<namespace>:<key>", "not the store's: Lua"),
    ("script:<config_id>", "not the store's: Lua"),
];

/// Makes keys.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    prefix: String,
}

/// The keys of one endpoint that all its tenants share.
pub(crate) struct EndpointKeys {
    pub(crate) state: String,
    pub(crate) inflight: String,
    pub(crate) settings: String,
}

/// The keys of one shard of the schedule.
pub(crate) struct DueKeys {
    pub(crate) at: String,
    pub(crate) records: String,
    pub(crate) leases: String,
}

impl Keys {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    pub(crate) fn webhook(&self, id: &WebhookId) -> String {
        format!("{}{{wh:{id}}}", self.prefix)
    }

    pub(crate) fn endpoint(&self, hash: &EndpointHash) -> EndpointKeys {
        let state = format!("{}{{ep:{hash}}}", self.prefix);
        EndpointKeys { inflight: format!("{state}:inflight"), settings: format!("{state}:settings"), state }
    }

    pub(crate) fn setting(&self, hash: &EndpointHash, config: &ConfigId) -> String {
        format!("{}{{ep:{hash}}}:setting:{config}", self.prefix)
    }

    pub(crate) fn held(&self, hash: &EndpointHash, config: &ConfigId) -> String {
        format!("{}{{ep:{hash}}}:held:{config}", self.prefix)
    }

    pub(crate) fn domain(&self, host: &str) -> String {
        format!("{}{{host:{host}}}:inflight", self.prefix)
    }

    pub(crate) fn due(&self, shard: u8) -> DueKeys {
        let part = |name: &str| format!("{}{{due:{shard:02}}}:{name}", self.prefix);
        DueKeys { at: part("at"), records: part("records"), leases: part("leases") }
    }

    pub(crate) fn dead_at(&self, config: &ConfigId) -> String {
        format!("{}{{dead:{config}}}:at", self.prefix)
    }

    pub(crate) fn dead_ids(&self, config: &ConfigId) -> String {
        format!("{}{{dead:{config}}}:ids", self.prefix)
    }

    pub(crate) fn dead_configs(&self) -> String {
        format!("{}dead:configs", self.prefix)
    }

    pub(crate) fn unhealthy(&self) -> String {
        format!("{}endpoints:unhealthy", self.prefix)
    }

    /// `hour` as `YYYYMMDDHH`.
    pub(crate) fn stats(&self, hour: &str) -> String {
        format!("{}stats:{hour}", self.prefix)
    }

    /// `hour` as `YYYYMMDDHH`.
    pub(crate) fn endpoints_of(&self, hour: &str) -> String {
        format!("{}{{hll}}:{hour}", self.prefix)
    }

    pub(crate) fn epoch(&self) -> String {
        format!("{}{{system}}:epoch", self.prefix)
    }

    pub(crate) fn rebuild(&self) -> String {
        format!("{}{{system}}:rebuild", self.prefix)
    }
}

/// The shard of a webhook. It must never change between versions: an entry is looked for in this shard only.
pub(crate) fn shard_of(id: &WebhookId) -> u8 {
    u8::try_from(fnv(id.as_str().bytes()) % u64::from(DUE_SHARDS)).unwrap_or_default()
}

/// FNV-1a, its upper half folded into the lower.
pub(crate) fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, step);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written_keys() -> Vec<String> {
        let keys = Keys::new("p:");
        let config = ConfigId::parse("acme:eu").unwrap();
        let hash = EndpointHash::parse("0123456789abcdef0123456789abcdef").unwrap();
        let id = WebhookId::parse("wh_01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap();
        let (endpoint, due) = (keys.endpoint(&hash), keys.due(7));
        vec![
            keys.webhook(&id),
            endpoint.state,
            endpoint.inflight,
            endpoint.settings,
            keys.setting(&hash, &config),
            keys.held(&hash, &config),
            keys.domain("hooks.example.com"),
            due.at,
            due.records,
            due.leases,
            keys.dead_at(&config),
            keys.dead_ids(&config),
            keys.dead_configs(),
            keys.unhealthy(),
            keys.stats("2026010100"),
            keys.endpoints_of("2026010100"),
            keys.epoch(),
            keys.rebuild(),
        ]
    }

    #[test]
    fn the_keys_are_as_documented() {
        let filled = |pattern: &str| {
            let values = [
                ("<id>", "wh_01ARZ3NDEKTSV4RRFFQ69G5FAV"),
                ("<hash>", "0123456789abcdef0123456789abcdef"),
                ("<config_id>", "acme:eu"),
                ("<host>", "hooks.example.com"),
                ("NN", "07"),
                ("<YYYYMMDDHH>", "2026010100"),
            ];
            values.iter().fold(format!("p:{pattern}"), |key, (name, value)| key.replace(name, value))
        };
        let documented = DOCUMENTED.iter().filter(|(_, what)| !what.starts_with("not the store's"));
        assert_eq!(written_keys(), documented.map(|(pattern, _)| filled(pattern)).collect::<Vec<_>>());
    }

    #[test]
    fn a_webhook_keeps_its_shard() {
        let shard = |text| shard_of(&WebhookId::parse(text).unwrap());
        assert_eq!(shard("wh_01ARZ3NDEKTSV4RRFFQ69G5FAV"), 9);
        let mut filled = [0_u32; 16];
        for number in 0..16_000_u128 {
            let id = WebhookId::fresh(domain::Timestamp::from_ms(1_767_225_600_000), number * 0x9e37_79b9_7f4a_7c15);
            filled[usize::from(shard_of(&id))] += 1;
        }
        assert!(filled.iter().all(|count| (800..1200).contains(count)), "{filled:?}");
    }
}
