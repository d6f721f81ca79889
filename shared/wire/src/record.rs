//! The records of the log as Kafka carries them: key, value and headers.
//!
//! `log-kafka` and the lanes' handlers call it. It knows neither Kafka's client nor Lambda's events, and decides nothing.
//! Values are JSON with `"v":1` and the original's field names where it has the field; times are RFC 3339 in UTC with
//! milliseconds; `attempt` is 1-based. A payload is carried byte for byte (DL-4). A record that cannot be read is an
//! [`Undecodable`] with its raw bytes, never a panic (DL-1).
//!
//! Headers repeat what readers filter by. Reading needs none of them but a tombstone's `dispatch`.

mod cooldown;
mod dead_letter;
mod dispatch;
mod headers;
mod payload;
mod result;
mod setting;
mod status;
mod tombstone;
mod undecodable;
pub(crate) mod waiting;

use domain::{Lane, Position, Record, Timestamp, Topic, Undecodable};

use crate::unreadable::Unreadable;

/// A record ready to be published on [`Record::topic`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// What the partition is chosen by.
    pub key: Vec<u8>,
    /// The value; `None` for a tombstone.
    pub value: Option<Vec<u8>>,
    /// The headers, in a fixed order.
    pub headers: Vec<(String, Vec<u8>)>,
}

/// A record as it was found on a topic.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a> {
    /// The topic it stands on.
    pub topic: Topic,
    /// Where it stands.
    pub position: Position,
    /// Its key.
    pub key: Option<&'a [u8]>,
    /// Its value; `None` for a tombstone.
    pub value: Option<&'a [u8]>,
    /// Its headers.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// The time of reading, kept when it cannot be read.
    pub at: Timestamp,
}

/// Writes a record.
pub fn encode(record: &Record) -> Encoded {
    let value = match record {
        Record::Dispatch(_, dispatch) => Some(dispatch::encode(dispatch)),
        Record::Result(result) => Some(result::encode(result)),
        Record::DeadLetter(dead_letter) => Some(dead_letter::encode(dead_letter)),
        Record::Undecodable(found) => Some(undecodable::encode(found)),
        Record::Waiting(waiting) => Some(waiting::encode(waiting)),
        Record::Tombstone(..) => None,
        Record::Setting(decision) => Some(setting::encode(decision)),
    };
    Encoded { key: record.key().into_bytes(), value, headers: headers::of(record) }
}

/// Reads a record.
///
/// # Errors
/// An [`Undecodable`] that says what is wrong and keeps the raw key and value: publish it to `howk.deadletter` and go on.
pub fn decode(raw: Raw<'_>) -> Result<Record, Undecodable> {
    read(&raw).map_err(|error| Undecodable {
        topic: raw.topic.name().to_owned(),
        position: raw.position,
        key: raw.key.map(<[u8]>::to_vec),
        value: raw.value.map(<[u8]>::to_vec),
        error: error.to_string(),
        at: raw.at,
    })
}

fn read(raw: &Raw<'_>) -> Result<Record, Unreadable> {
    match (raw.topic, raw.value) {
        (Topic::Pending, Some(value)) => dispatch::decode(value).map(|found| Record::Dispatch(Lane::Fast, found)),
        (Topic::Slow, Some(value)) => dispatch::decode(value).map(|found| Record::Dispatch(Lane::Slow, found)),
        (Topic::Results, Some(value)) => result::decode(value).map(Record::Result),
        (Topic::DeadLetter, Some(value)) => {
            let dead_letter = dead_letter::decode(value).map(Record::DeadLetter);
            dead_letter.or_else(|error| undecodable::decode(value).unwrap_or(Err(error)).map(Record::Undecodable))
        }
        (Topic::State, Some(value)) => {
            let of_setting = raw.key.is_some_and(|key| key.starts_with(setting::KEY_PREFIX));
            let record = if of_setting {
                Record::Setting(setting::decode(value)?)
            } else {
                Record::Waiting(waiting::decode(value)?)
            };
            keyed(record, raw)
        }
        (Topic::State, None) => tombstone::decode(raw.key, raw.headers),
        (Topic::Pending | Topic::Slow | Topic::Results | Topic::DeadLetter, None) => {
            Err(Unreadable::of("value", "null, which only howk.state can have"))
        }
    }
}

/// On a compacted topic a record under another's key would replace it, and its own tombstone would not find it.
fn keyed(record: Record, raw: &Raw<'_>) -> Result<Record, Unreadable> {
    if raw.key == Some(record.key().as_bytes()) {
        Ok(record)
    } else {
        Err(Unreadable::of("key", "not the key of this value"))
    }
}
