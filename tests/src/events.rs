//! Lambda's Kafka events, as an event source makes them of the records of a topic.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use delivery::ports::log::Log;
use domain::{Position, Topic};
use serde::Serialize;
use serde_json::{Value, json};

use crate::world::World;

/// A record as an event source finds it.
#[derive(Debug, Clone)]
pub struct Found {
    /// Where it stands.
    pub position: Position,
    /// Its key.
    pub key: Option<Vec<u8>>,
    /// Its value.
    pub value: Option<Vec<u8>>,
    /// Its headers.
    pub headers: Vec<(String, Vec<u8>)>,
}

/// Everything that stands on a topic, by position.
///
/// # Panics
/// When the log cannot be read, or holds what cannot be read.
pub fn found(world: &mut World, topic: Topic) -> Vec<Found> {
    let log = Arc::clone(&world.log);
    world.run(async move {
        let mut found = Vec::new();
        for extent in log.extents(topic).await.unwrap() {
            let from = Position { partition: extent.partition, offset: extent.start };
            for record in log.read(topic, from, usize::MAX).await.unwrap().records {
                let encoded = wire::record::encode(&record.value.unwrap());
                found.push(Found {
                    position: record.position,
                    key: Some(encoded.key),
                    value: encoded.value,
                    headers: encoded.headers,
                });
            }
        }
        found
    })
}

/// The event of these records of one topic.
pub fn event(topic: &str, found: &[Found]) -> String {
    let mut records: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for Found { position: Position { partition, offset }, key, value, headers } in found {
        let signed = |bytes: &Vec<u8>| bytes.iter().map(|byte| byte.cast_signed()).collect::<Vec<_>>();
        records.entry(format!("{topic}-{partition}")).or_default().push(json!({
            "topic": topic, "partition": partition, "offset": offset, "timestamp": 0, "timestampType": "CREATE_TIME",
            "key": key.as_ref().map(|key| STANDARD.encode(key)), "value": value.as_ref().map(|value| STANDARD.encode(value)),
            "headers": headers.iter().map(|(name, bytes)| json!({ name: signed(bytes) })).collect::<Vec<_>>(),
        }));
    }
    json!({ "eventSource": "aws:kafka", "bootstrapServers": "b-1:9098", "records": records }).to_string()
}

/// An answer as the platform gets it.
///
/// # Panics
/// When it cannot be written.
pub fn json(answer: &impl Serialize) -> Value {
    serde_json::to_value(answer).unwrap()
}
