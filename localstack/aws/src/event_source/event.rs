//! The event, in the form of Lambda's Kafka event source.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rdkafka::Timestamp;
use rdkafka::message::{Headers, Message};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::batch::{EventRecord, Place};
use crate::lambda::REGION;
use crate::spec::Tombstones;

/// Bytes that an event needs beside its records.
pub(super) const ENVELOPE_BYTES: usize = 1024;
/// Bytes that an event needs for each partition: the key `TOPIC-PARTITION`, whose topic has at most 249 characters.
pub(super) const PARTITION_BYTES: usize = 280;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RecordBody<'a> {
    topic: &'a str,
    partition: i32,
    offset: i64,
    timestamp: i64,
    timestamp_type: &'static str,
    #[serde(skip_serializing_if = "Shown::is_missing")]
    key: Shown,
    #[serde(skip_serializing_if = "Shown::is_missing")]
    value: Shown,
    headers: Vec<Header<'a>>,
}

/// Bytes in base64, or what an event shows in place of a missing key or value.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown {
    Bytes(String),
    Null,
    Missing,
}

impl Shown {
    fn of(bytes: Option<&[u8]>, tombstones: Tombstones) -> Self {
        match (bytes, tombstones) {
            (Some(bytes), _) => Self::Bytes(STANDARD.encode(bytes)),
            (None, Tombstones::Null) => Self::Null,
            (None, Tombstones::Missing) => Self::Missing,
        }
    }

    const fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }
}

/// A header: its name, and its bytes as signed numbers, as Java has them.
struct Header<'a>(&'a str, &'a [u8]);

impl Serialize for Header<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let signed: Vec<i8> = self.1.iter().map(|byte| byte.cast_signed()).collect();
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.0, &signed)?;
        map.end()
    }
}

/// Writes a record of Kafka as it stands in an event.
///
/// # Errors
/// Never: its parts are texts and numbers.
pub(super) fn record(record: &impl Message, tombstones: Tombstones) -> serde_json::Result<EventRecord> {
    let (timestamp, timestamp_type) = match record.timestamp() {
        Timestamp::CreateTime(ms) => (ms, "CREATE_TIME"),
        Timestamp::LogAppendTime(ms) => (ms, "LOG_APPEND_TIME"),
        Timestamp::NotAvailable => (0, "CREATE_TIME"),
    };
    let body = RecordBody {
        topic: record.topic(),
        partition: record.partition(),
        offset: record.offset(),
        timestamp,
        timestamp_type,
        key: Shown::of(record.key(), tombstones),
        value: Shown::of(record.payload(), tombstones),
        headers: headers_of(record.headers()),
    };
    Ok(EventRecord {
        place: Place { partition: record.partition(), offset: record.offset() },
        at_ms: u64::try_from(timestamp).unwrap_or_default(),
        key: record.key().map(<[u8]>::to_vec),
        json: serde_json::to_string(&body)?,
    })
}

/// A record's headers; none when the name of one is not UTF-8, because the client panics on it.
fn headers_of<H: Headers>(headers: Option<&H>) -> Vec<Header<'_>> {
    let read = || {
        let headers = headers.into_iter().flat_map(Headers::iter);
        headers.map(|header| Header(header.key, header.value.unwrap_or_default())).collect()
    };
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_default()
}

/// The topic and the brokers that an event names.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub(super) topic: String,
    pub(super) brokers: String,
}

impl Origin {
    pub(super) fn arn() -> String {
        format!("arn:aws:kafka:{REGION}:000000000000:cluster/howk-local/00000000-0000-4000-8000-000000000000-1")
    }

    /// Writes the event of some records, which are in order of partition and offset.
    pub(super) fn event(&self, records: &[Arc<EventRecord>]) -> String {
        let mut partitions: BTreeMap<i32, Vec<&str>> = BTreeMap::new();
        for record in records {
            partitions.entry(record.place.partition).or_default().push(&record.json);
        }
        let named = partitions.iter().map(|(partition, records)| {
            format!("{}:[{}]", text(&format!("{}-{partition}", self.topic)), records.join(","))
        });
        let (arn, brokers) = (text(&Self::arn()), text(&self.brokers));
        let records = named.collect::<Vec<_>>().join(",");
        format!(
            r#"{{"eventSource":"aws:kafka","eventSourceArn":{arn},"bootstrapServers":{brokers},"records":{{{records}}}}}"#
        )
    }
}

fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdkafka::message::{Header as Named, OwnedHeaders};

    struct Unreadable;

    impl Headers for Unreadable {
        fn count(&self) -> usize {
            1
        }

        fn try_get(&self, _: usize) -> Option<Named<'_, &[u8]>> {
            panic!("Utf8Error")
        }
    }

    #[test]
    fn headers_that_cannot_be_read_are_none() {
        assert!(headers_of(Some(&Unreadable)).is_empty());
        let one = OwnedHeaders::new().insert(Named { key: "v", value: Some("1") });
        let read = headers_of(Some(&one));
        assert_eq!(serde_json::to_string(&read).unwrap(), r#"[{"v":[49]}]"#);
    }
}
