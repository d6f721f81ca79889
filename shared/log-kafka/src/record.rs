//! Messages of the Kafka client as records.

use std::panic::{AssertUnwindSafe, catch_unwind};

use delivery::ports::log::LogRecord;
use domain::{Position, Timestamp, Topic, Undecodable};
use rdkafka::Message;
use rdkafka::message::{BorrowedMessage, Headers};
use wire::record::{self, Raw};

/// Reads a message of a topic.
///
/// Only a tombstone's headers are looked at: the client panics on a header name that is not UTF-8, which any writer
/// of the topic can send.
pub(crate) fn read(topic: Topic, message: &BorrowedMessage<'_>, at: Timestamp) -> LogRecord {
    let position = position_of(message);
    let raw = Raw { topic, position, key: message.key(), value: message.payload(), headers: &[], at };
    if raw.value.is_some() || raw.topic != Topic::State {
        return LogRecord { position, value: record::decode(raw) };
    }
    let value = catch_unwind(AssertUnwindSafe(|| record::decode(Raw { headers: &headers_of(message), ..raw })));
    LogRecord { position, value: value.unwrap_or_else(|_| Err(unreadable_header(&raw))) }
}

/// A message's bytes, about, as they are held.
pub(crate) fn bytes_of(message: &BorrowedMessage<'_>) -> usize {
    message.payload_len().saturating_add(message.key_len())
}

/// Where a message stands.
pub(crate) fn position_of(message: &BorrowedMessage<'_>) -> Position {
    Position {
        partition: u32::try_from(message.partition()).unwrap_or_default(),
        offset: u64::try_from(message.offset()).unwrap_or_default(),
    }
}

fn headers_of<'a>(message: &'a BorrowedMessage<'_>) -> Vec<(&'a str, &'a [u8])> {
    let headers = message.headers().into_iter().flat_map(Headers::iter);
    headers.map(|header| (header.key, header.value.unwrap_or_default())).collect()
}

fn unreadable_header(raw: &Raw<'_>) -> Undecodable {
    Undecodable {
        topic: raw.topic.name().to_owned(),
        position: raw.position,
        key: raw.key.map(<[u8]>::to_vec),
        value: None,
        error: "the name of a header is not UTF-8".to_owned(),
        at: raw.at,
    }
}
