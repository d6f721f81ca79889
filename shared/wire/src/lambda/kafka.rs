//! The event of Lambda's Kafka event source: partitions of one topic, records as base64.
//!
//! More lenient than `aws_lambda_events`, which refuses a whole batch for one unsigned header byte or a record without
//! `headers`; a test holds the two equal on everything that both read. Stricter in three places, because an invocation
//! that succeeds acknowledges its whole batch: an event without `records`, one of another event source, and a record
//! that stands under another partition's name are errors, and a partition that is named twice keeps the records of both.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::{Position, Timestamp, Topic, Undecodable};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::read;
use crate::record::{self, Raw};
use crate::unreadable::Unreadable;

/// What `eventSource` may say: MSK, and Kafka of one's own.
const SOURCES: [&str; 2] = ["aws:kafka", "SelfManagedKafka"];

/// A batch of records.
///
/// Shape: partitions by topic and number, the records of each by offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaEvent {
    /// The partitions that the batch has records of.
    pub partitions: Vec<EventPartition>,
}

/// The records of one partition in a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPartition {
    /// The topic, as the cluster names it.
    pub topic: String,
    /// The partition.
    pub partition: u32,
    /// The records, by offset.
    pub records: Vec<EventRecord>,
}

/// One record of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    /// Where in its partition it stands.
    pub offset: u64,
    /// The key; `None` when it has none.
    pub key: Option<Vec<u8>>,
    /// The value; `None` for a tombstone.
    pub value: Option<Vec<u8>>,
    /// The headers in their order.
    pub headers: Vec<(String, Vec<u8>)>,
}

impl KafkaEvent {
    /// Reads an event.
    ///
    /// # Errors
    /// An [`Unreadable`] that says where the event is malformed: fail the invocation, nothing of it was handled.
    pub fn decode(text: &str) -> Result<Self, Unreadable> {
        let event: EventValue<'_> = read(text)?;
        if let Some(source) = event.event_source.filter(|source| !SOURCES.contains(&source.as_ref())) {
            return Err(Unreadable::unknown("eventSource", &source));
        }
        let mut partitions = Vec::new();
        for (name, records) in event.records.0 {
            add(&mut partitions, &name, records)?;
        }
        partitions.sort_by(|one, other| (&one.topic, one.partition).cmp(&(&other.topic, other.partition)));
        partitions.dedup_by(|next, kept| {
            let is_same = (&next.topic, next.partition) == (&kept.topic, kept.partition);
            if is_same {
                kept.records.append(&mut next.records);
            }
            is_same
        });
        for partition in &mut partitions {
            partition.records.sort_by_key(|record| record.offset);
        }
        Ok(Self { partitions })
    }
}

impl EventPartition {
    /// The name that an item of a batch response calls it by.
    pub fn name(&self) -> String {
        format!("{}-{}", self.topic, self.partition)
    }

    /// The error of a partition whose topic is not the wanted one.
    pub fn misplaced(&self, wanted: &str) -> Unreadable {
        Unreadable::of(&format!("records.{}", self.name()), format_args!("not a partition of {wanted}"))
    }
}

impl EventRecord {
    /// Reads the record, which stands on howk's `topic`, whatever the cluster calls that.
    ///
    /// # Errors
    /// As [`record::decode`]: an undecodable record goes to the dead letters.
    pub fn decode(&self, topic: Topic, partition: u32, at: Timestamp) -> Result<domain::Record, Undecodable> {
        let headers: Vec<(&str, &[u8])> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
        record::decode(Raw {
            topic,
            position: Position { partition, offset: self.offset },
            key: self.key.as_deref(),
            value: self.value.as_deref(),
            headers: &headers,
            at,
        })
    }
}

/// Adds the records that stand under a name, which must be theirs.
fn add(
    partitions: &mut Vec<EventPartition>,
    name: &str,
    records: Option<Vec<RecordValue<'_>>>,
) -> Result<(), Unreadable> {
    let place = format!("records.{name}");
    let (topic, partition) = name
        .rsplit_once('-')
        .and_then(|(topic, partition)| Some((topic, partition.parse().ok()?)))
        .ok_or_else(|| Unreadable::of(&place, "not the name of a topic, a hyphen and the number of a partition"))?;
    let mut kept = Vec::new();
    for (index, record) in records.unwrap_or_default().into_iter().enumerate() {
        if record.partition != partition || record.topic.as_ref().is_some_and(|own| own.as_ref() != topic) {
            return Err(Unreadable::of(&format!("{place}[{index}]"), "of another topic or partition"));
        }
        kept.push(record.into_record());
    }
    partitions.push(EventPartition { topic: topic.to_owned(), partition, records: kept });
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a Kafka event")]
struct EventValue<'a> {
    #[serde(borrow, default)]
    event_source: Option<Cow<'a, str>>,
    #[serde(borrow)]
    records: Entries<'a, Option<Vec<RecordValue<'a>>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "a Kafka record")]
struct RecordValue<'a> {
    #[serde(borrow, default)]
    topic: Option<Cow<'a, str>>,
    partition: u32,
    offset: u64,
    #[serde(default)]
    key: Option<Base64>,
    #[serde(default)]
    value: Option<Base64>,
    #[serde(borrow, default)]
    headers: Option<Vec<Entries<'a, Option<HeaderBytes>>>>,
}

impl RecordValue<'_> {
    fn into_record(self) -> EventRecord {
        let headers = self.headers.unwrap_or_default().into_iter().flat_map(|entries| entries.0);
        EventRecord {
            offset: self.offset,
            key: self.key.map(|key| key.0),
            value: self.value.map(|value| value.0),
            headers: headers.map(|(name, value)| (name.into_owned(), value.unwrap_or_default().0)).collect(),
        }
    }
}

/// The members of an object in their order, repeats included.
struct Entries<'a, T>(Vec<(Cow<'a, str>, T)>);

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Entries<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

struct EntriesVisitor<'a, T>(PhantomData<(&'a (), T)>);

impl<'de: 'a, 'a, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<'a, T> {
    type Value = Entries<'a, T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((name, value)) = map.next_entry::<Name<'a>, T>()? {
            entries.push((name.0, value));
        }
        Ok(Entries(entries))
    }
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Bytes as base64.
struct Base64(Vec<u8>);

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Name::deserialize(deserializer)?.0;
        STANDARD.decode(text.as_bytes()).map(Self).map_err(|_| D::Error::custom("not base64"))
    }
}

/// The bytes of a header as numbers, as a signed or an unsigned byte each.
#[derive(Default, Deserialize)]
struct HeaderBytes(#[serde(deserialize_with = "bytes")] Vec<u8>);

fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let numbers = Vec::<i64>::deserialize(deserializer)?;
    let byte = |number: i64| {
        let signed = i8::try_from(number).map(i8::cast_unsigned);
        signed.or_else(|_| u8::try_from(number)).map_err(|_| D::Error::custom("not a byte"))
    };
    numbers.into_iter().map(byte).collect()
}
