//! The files that costs are computed from.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Reads a JSON file.
///
/// # Errors
/// When it is missing, or of another shape.
pub(crate) fn read<T: DeserializeOwned>(file: &Path) -> anyhow::Result<T> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} has another shape", file.display()))
}

/// `prices.json`: US dollars.
#[derive(Debug, Deserialize)]
pub(crate) struct Prices {
    pub(crate) hours_month: f64,
    pub(crate) lambda: LambdaPrices,
    pub(crate) event_poller_unit_hour: f64,
    pub(crate) event_pollers_per_unit: f64,
    pub(crate) api_million: f64,
    pub(crate) kafka: KafkaPrices,
    pub(crate) cache: CachePrices,
    pub(crate) nat: NatPrices,
    pub(crate) egress_gb: f64,
    pub(crate) endpoint: EndpointPrices,
    pub(crate) logs_gb: f64,
    pub(crate) alarm_month: f64,
    pub(crate) metric_month: f64,
    pub(crate) dashboard_month: f64,
    pub(crate) secret_month: f64,
    pub(crate) key_month: f64,
    pub(crate) traces_million: f64,
}

/// Lambda on arm64.
#[derive(Debug, Deserialize)]
pub(crate) struct LambdaPrices {
    pub(crate) gb_second: f64,
    pub(crate) requests_million: f64,
    pub(crate) provisioned_gb_second: f64,
}

/// The kinds of cluster.
#[derive(Debug, Deserialize)]
pub(crate) struct KafkaPrices {
    pub(crate) serverless: ServerlessPrices,
    pub(crate) express: BrokerPrices,
    pub(crate) standard: BrokerPrices,
}

/// MSK Serverless.
#[derive(Debug, Deserialize)]
pub(crate) struct ServerlessPrices {
    pub(crate) cluster_hour: f64,
    pub(crate) partition_hour: f64,
    pub(crate) in_gb: f64,
    pub(crate) out_gb: f64,
    pub(crate) storage_gb_month: f64,
}

/// Clusters of brokers.
#[derive(Debug, Deserialize)]
pub(crate) struct BrokerPrices {
    pub(crate) broker_hour: BTreeMap<String, f64>,
    #[serde(default)]
    pub(crate) in_gb: f64,
    pub(crate) storage_gb_month: f64,
}

/// ElastiCache for Valkey.
#[derive(Debug, Deserialize)]
pub(crate) struct CachePrices {
    pub(crate) gb_hour: f64,
    pub(crate) gb_min: f64,
    pub(crate) ecpu_million: f64,
    pub(crate) node_hour: BTreeMap<String, f64>,
    /// The memory of a node.
    pub(crate) node_gb: BTreeMap<String, f64>,
}

/// NAT gateways.
#[derive(Debug, Deserialize)]
pub(crate) struct NatPrices {
    pub(crate) gateway_hour: f64,
    pub(crate) gb: f64,
    pub(crate) ipv4_hour: f64,
}

/// VPC interface endpoints.
#[derive(Debug, Deserialize)]
pub(crate) struct EndpointPrices {
    pub(crate) zone_hour: f64,
}

/// `measured.json`, each figure with its unit and how it was found.
#[derive(Debug, Deserialize)]
pub(crate) struct Measured {
    pub(crate) redis_bytes_per_webhook: Figure,
    pub(crate) redis_scripts_per_webhook: Figure,
    pub(crate) redis_script_microseconds: Figure,
    pub(crate) redis_command_microseconds: Figure,
    pub(crate) record_overhead_bytes: Figure,
    pub(crate) result_bytes: Figure,
    pub(crate) request_overhead_bytes: Figure,
    pub(crate) log_bytes_per_webhook: Figure,
    pub(crate) accept_milliseconds: Figure,
    pub(crate) cpu_milliseconds_per_webhook: Figure,
    pub(crate) settle_milliseconds: Figure,
}

/// One figure.
#[derive(Debug, Deserialize)]
pub(crate) struct Figure {
    pub(crate) value: f64,
}

/// `topics.json`.
#[derive(Debug, Deserialize)]
pub(crate) struct Topics {
    pub(crate) topics: Vec<Topic>,
}

/// One topic.
#[derive(Debug, Deserialize)]
pub(crate) struct Topic {
    pub(crate) name: String,
    pub(crate) partitions: u32,
}

impl Topics {
    /// The partitions of a topic, or 0.
    pub(crate) fn partitions(&self, name: &str) -> f64 {
        self.topics.iter().find(|topic| topic.name == name).map_or(0.0, |topic| f64::from(topic.partitions))
    }

    /// The partitions of all.
    pub(crate) fn all_partitions(&self) -> f64 {
        self.topics.iter().map(|topic| f64::from(topic.partitions)).sum()
    }
}
