//! Whether a deployment can take the load.

use crate::cost::deployment::{Deployment, Nodes};
use crate::cost::inputs::Prices;
use crate::cost::traffic::Traffic;
use crate::report::{Aim, Bound};

/// Copies of a record.
const REPLICAS: f64 = 3.0;
/// The part of a disk, or of a node's memory, that may be used; the deployment's alarms fire above it.
const FULL: f64 = 0.75;

/// The limits of a deployment that this traffic must stay within.
pub(crate) fn limits(deployment: &Deployment, traffic: &Traffic, prices: &Prices) -> Vec<Aim> {
    let mut aims: Vec<Aim> = [&traffic.fast, &traffic.slow]
        .into_iter()
        .map(|lane| Aim::new(format!("{} invocations at once", lane.name), lane.at_once, Bound::AtMost(lane.slots)))
        .collect();
    let cache = cache_gb(deployment, prices);
    aims.extend(cache.map(|max| Aim::new("GB of hot state", traffic.stored_gb, Bound::AtMost(max))));
    let disks = deployment.kafka.standard.as_ref().map(|brokers| {
        let kept = traffic.kafka_kept_gb() * REPLICAS / f64::from(brokers.count);
        Aim::new("GB on each broker's disk", kept, Bound::AtMost(f64::from(brokers.storage_gb) * FULL))
    });
    aims.extend(disks);
    aims
}

fn cache_gb(deployment: &Deployment, prices: &Prices) -> Option<f64> {
    if let Some(cache) = &deployment.cache.serverless {
        return Some(f64::from(cache.storage_gb_max));
    }
    let Nodes { node, shards, .. } = deployment.cache.replication_group.as_ref()?;
    prices.cache.node_gb.get(node).map(|memory| memory * f64::from(*shards) * FULL)
}
