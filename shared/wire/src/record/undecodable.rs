//! A record that could not be read, on `howk.deadletter`: its raw bytes, its place and what is wrong with it.
//!
//! Its `reason_type` is `undecodable` and it has no `webhook`, which distinguishes it from a dead letter.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::{Position, Undecodable};
use serde::{Deserialize, Serialize};

use crate::json::{self, Version};
use crate::time::Time;
use crate::unreadable::Unreadable;

const ROOM_BESIDE_VALUE: usize = 768;

/// The fields, in the order of writing.
#[derive(Serialize, Deserialize)]
struct UndecodableValue {
    v: Version,
    reason: String,
    reason_type: String,
    topic: String,
    partition: u32,
    offset: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key_base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value_base64: Option<String>,
    time: Time,
}

/// Only what kind of dead letter it is.
#[derive(Deserialize)]
struct Kind {
    reason_type: String,
    webhook: Option<serde::de::IgnoredAny>,
}

/// Writes a value.
pub(super) fn encode(found: &Undecodable) -> Vec<u8> {
    let base64 = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(|bytes| STANDARD.encode(bytes));
    let value = UndecodableValue {
        v: Version,
        reason: found.error.clone(),
        reason_type: Undecodable::REASON_TYPE.to_owned(),
        topic: found.topic.clone(),
        partition: found.position.partition,
        offset: found.position.offset,
        key_base64: base64(&found.key),
        value_base64: base64(&found.value),
        time: Time(found.at),
    };
    let room = value.value_base64.as_ref().map_or(0, String::len).saturating_add(ROOM_BESIDE_VALUE);
    json::write(&value, room)
}

/// Reads a value; `None` when it is a dead letter of the other kind.
pub(super) fn decode(bytes: &[u8]) -> Option<Result<Undecodable, Unreadable>> {
    let kind: Kind = serde_json::from_slice(bytes).ok()?;
    let ours = kind.reason_type == Undecodable::REASON_TYPE && kind.webhook.is_none();
    ours.then(|| read(bytes))
}

fn read(bytes: &[u8]) -> Result<Undecodable, Unreadable> {
    let value: UndecodableValue = json::read(bytes)?;
    Ok(Undecodable {
        topic: value.topic,
        position: Position { partition: value.partition, offset: value.offset },
        key: from_base64("key_base64", value.key_base64)?,
        value: from_base64("value_base64", value.value_base64)?,
        error: value.reason,
        at: value.time.0,
    })
}

fn from_base64(part: &str, text: Option<String>) -> Result<Option<Vec<u8>>, Unreadable> {
    text.map(|text| STANDARD.decode(text)).transpose().map_err(|error| Unreadable::of(part, error))
}
