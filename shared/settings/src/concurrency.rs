//! Settings of the limits on requests in flight.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::Endpoint;
use serde_json::Value;

use crate::kinds::{Kind, Parsed, hours, map, mins, secs, span, whole};

section! {
    /// Limits on requests in flight.
    "concurrency." Concurrency {
        /// How many requests one endpoint gets at once.
        max_inflight_per_endpoint: u32 = whole(1..=100_000).or(50);
        /// The original's time after which a crash frees its places in flight; without effect here, where a lease
        /// outlives its request's timeout by a few seconds. Longer than `delivery.timeout`.
        inflight_ttl: Duration = span(secs(1)..=hours(1)).or(mins(2));
        /// How many requests a second the slow lane sends to one endpoint.
        slow_lane_rate: u32 = whole(1..=100_000).or(20);
        /// How many requests one domain gets at once; 0 is no limit.
        max_inflight_per_domain: u32 = whole(0..=100_000).or(0);
        /// Limits of single domains, in force whatever `max_inflight_per_domain` is; 0 is no limit.
        domain_overrides: BTreeMap<String, u32> = map(whole(0..=100_000)).named(Host).or(BTreeMap::new());
    }
}

impl Concurrency {
    /// The limit of a domain, as [`Endpoint::domain`] spells it; nothing when it has none.
    pub fn limit_of_domain(&self, domain: &str) -> Option<u32> {
        let limit = self.domain_overrides.get(domain).copied().unwrap_or(self.max_inflight_per_domain);
        (limit > 0).then_some(limit)
    }
}

/// A host without port, brought into the form of [`Endpoint::domain`].
#[derive(Debug)]
pub(crate) struct Host;

impl Kind for Host {
    type Value = String;

    fn allowed(&self) -> String {
        "a host without port".to_owned()
    }

    fn parse(&self, raw: &Value) -> Parsed<String> {
        let text = raw.as_str().unwrap_or_default().trim();
        let port = text.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        let odd = port || text.is_empty() || text.contains(['/', '@', '?', '#', '\\', '*', ',']);
        match Endpoint::parse(&format!("https://{text}/")) {
            Ok(endpoint) if !odd => Ok(endpoint.domain().to_owned()),
            Ok(_) | Err(_) => Err(vec![format!("{text:?} is not a host without port, such as api.example.com")]),
        }
    }

    fn show(&self, value: &String) -> Value {
        Value::from(value.as_str())
    }
}
