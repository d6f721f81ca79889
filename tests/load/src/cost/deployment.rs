//! The parts of a `howk.yaml` that cost money, with the defaults of `howk.schema.json`.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::Settings;

use crate::cost::inputs::read;

/// A deployment.
#[derive(Debug, Deserialize)]
pub(crate) struct Deployment {
    pub(crate) network: Network,
    pub(crate) kafka: Kafka,
    pub(crate) cache: Cache,
    pub(crate) functions: Functions,
    howk: Value,
}

/// The network: created by the deployment, or an existing one, which costs nothing here.
#[derive(Debug, Deserialize)]
pub(crate) struct Network {
    pub(crate) create: Option<CreatedNetwork>,
}

/// A network that the deployment creates.
#[derive(Debug, Deserialize)]
pub(crate) struct CreatedNetwork {
    pub(crate) nat_gateways: u32,
}

/// The Kafka cluster. With none of them it is an existing one, which costs nothing here.
#[derive(Debug, Deserialize)]
pub(crate) struct Kafka {
    pub(crate) standard: Option<Brokers>,
    pub(crate) express: Option<Brokers>,
    pub(crate) serverless: Option<Value>,
}

/// Brokers.
#[derive(Debug, Deserialize)]
pub(crate) struct Brokers {
    pub(crate) instance: String,
    #[serde(rename = "brokers")]
    pub(crate) count: u32,
    #[serde(default)]
    pub(crate) storage_gb: u32,
}

/// The cache. With none of them it is an existing one, which costs nothing here.
#[derive(Debug, Deserialize)]
pub(crate) struct Cache {
    pub(crate) serverless: Option<ServerlessCache>,
    pub(crate) replication_group: Option<Nodes>,
}

/// A serverless cache.
#[derive(Debug, Deserialize)]
pub(crate) struct ServerlessCache {
    pub(crate) storage_gb_max: u32,
}

/// Nodes of a cache.
#[derive(Debug, Deserialize)]
pub(crate) struct Nodes {
    pub(crate) node: String,
    pub(crate) shards: u32,
    pub(crate) replicas: u32,
}

/// The functions that cost by their sizes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Functions {
    pub(crate) enqueue: Enqueue,
    pub(crate) fast_lane: Lane,
    pub(crate) slow_lane: Lane,
    pub(crate) scheduler: Sizes,
    pub(crate) reconciler: Sizes,
}

/// The API's function.
#[derive(Debug, Deserialize)]
pub(crate) struct Enqueue {
    pub(crate) memory: u32,
    pub(crate) provisioned_concurrency: u32,
}

/// A lane.
#[derive(Debug, Deserialize)]
pub(crate) struct Lane {
    pub(crate) memory: u32,
    pub(crate) concurrency: u32,
    pub(crate) batch: u32,
    pub(crate) window: u32,
    pub(crate) pollers: Option<Pollers>,
}

/// Provisioned pollers.
#[derive(Debug, Deserialize)]
pub(crate) struct Pollers {
    pub(crate) min: u32,
    pub(crate) max: u32,
}

/// The memory of a function in MB.
#[derive(Debug, Deserialize)]
pub(crate) struct Sizes {
    pub(crate) memory: u32,
}

impl Deployment {
    /// Reads a file. Only its shape is checked; `infra/scripts/synth` finds other mistakes.
    ///
    /// # Errors
    /// When it cannot be read, or has another shape.
    pub(crate) fn load(file: &Path, schema: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
        let mut document =
            serde_yaml_ng::from_str(&text).with_context(|| format!("{} is not valid YAML", file.display()))?;
        fill_in(&mut document, &read(schema)?);
        serde_json::from_value(document).with_context(|| format!("{} is not a deployment", file.display()))
    }

    /// How long a request may take in the fast lane, in seconds.
    pub(crate) fn fast_timeout(&self) -> f64 {
        self.seconds("/delivery/fast_timeout", Settings::default().delivery.fast_timeout)
    }

    /// How long a request may take in the slow lane, in seconds.
    pub(crate) fn slow_timeout(&self) -> f64 {
        self.seconds("/delivery/timeout", Settings::default().delivery.timeout)
    }

    /// How long Redis keeps the data of a webhook, in seconds.
    pub(crate) fn kept(&self) -> f64 {
        let ttl = Settings::default().ttl;
        let status = self.seconds("/ttl/status_ttl", ttl.status_ttl);
        let retry = self.seconds("/ttl/retry_data_ttl", ttl.retry_data_ttl);
        status.max(retry).max(self.seconds("/ttl/idempotency_ttl", ttl.idempotency_ttl))
    }

    fn seconds(&self, pointer: &str, preset: Duration) -> f64 {
        let own = self.howk.pointer(pointer).and_then(Value::as_str);
        own.and_then(|text| humantime::parse_duration(text).ok()).unwrap_or(preset).as_secs_f64()
    }
}

/// Adds the defaults of a schema to a document.
fn fill_in(document: &mut Value, schema: &Value) {
    let (Value::Object(fields), Some(Value::Object(properties))) = (document, schema.get("properties")) else {
        return;
    };
    for (name, property) in properties {
        add_default(fields, name, property);
        if let Some(field) = fields.get_mut(name) {
            fill_in(field, property);
        }
    }
}

fn add_default(fields: &mut Map<String, Value>, name: &str, property: &Value) {
    if let Some(preset) = property.get("default")
        && !fields.contains_key(name)
    {
        fields.insert(name.to_owned(), preset.clone());
    }
}
