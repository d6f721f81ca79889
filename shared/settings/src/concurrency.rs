//! Settings of the limits on requests in flight.

use std::collections::BTreeMap;

use domain::{Endpoint, InflightLimits, LanePolicy};
use serde_json::Value;

use crate::kinds::{Kind, Parsed, map, whole};

section! {
    /// Limits on requests in flight.
    "concurrency." Concurrency {
        /// How many requests are in flight to one endpoint at most.
        max_inflight_per_endpoint: u32 = whole(1..=InflightLimits::MAX).or(InflightLimits::default().endpoint);
        /// How many requests a second the slow lane sends to one endpoint.
        slow_lane_rate: u32 = whole(1..=LanePolicy::SLOW_RATE_MAX).or(LanePolicy::SLOW_RATE_DEFAULT);
        /// How many requests are in flight to one domain at most; 0 is no limit.
        max_inflight_per_domain: u32 = whole(0..=InflightLimits::MAX).or(0);
        /// Limits of single domains, in place of `max_inflight_per_domain`; 0 is no limit.
        domain_overrides: BTreeMap<String, u32> = map(whole(0..=InflightLimits::MAX)).named(Host).or(BTreeMap::new());
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
