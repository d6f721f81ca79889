//! Everything that howk has written to Kafka and Redis, byte for byte, as a thief of the disks would read it.

use std::collections::BTreeSet;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use redis::{Commands, Connection, Value};
use store_redis::keys::DOCUMENTED;

use crate::rig::pair::Pair;

const TIMEOUT: Duration = Duration::from_secs(30);
/// What every frame of zstd begins with.
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The key, the value and the headers of every record of these topics.
///
/// # Panics
/// When they cannot be read.
pub fn records(pair: &Pair, topics: &[String]) -> Vec<Vec<u8>> {
    topics.iter().flat_map(|topic| of_topic(pair, topic)).collect()
}

/// Keys of Redis that no page of the documentation names.
///
/// # Panics
/// When Redis does not answer.
pub fn undocumented_keys(pair: &Pair) -> Vec<String> {
    let mut keys: Vec<String> = pair.connection().keys("*").unwrap();
    keys.retain(|key| !DOCUMENTED.iter().any(|(pattern, _)| fits(pattern, key)));
    keys
}

/// Whether a key is of a kind: what stands in `<>`, and `NN`, is anything.
fn fits(pattern: &str, key: &str) -> bool {
    let pattern = pattern.replace("NN", "<NN>");
    let mut pieces = pattern.split('<').map(|piece| piece.rsplit('>').next().unwrap_or_default());
    let Some(mut rest) = pieces.next().and_then(|first| key.strip_prefix(first)) else { return false };
    let mut is_open = false;
    for piece in pieces {
        let Some((_, behind)) = rest.split_once(piece) else { return false };
        (rest, is_open) = (behind, piece.is_empty());
    }
    is_open || rest.is_empty()
}

/// The topics that there are, those of Kafka itself left out.
///
/// # Panics
/// When Kafka does not answer.
pub fn topics(pair: &Pair) -> BTreeSet<String> {
    let client: BaseConsumer = ClientConfig::new().set("bootstrap.servers", pair.brokers()).create().unwrap();
    let metadata = client.fetch_metadata(None, TIMEOUT).unwrap();
    let names = metadata.topics().iter().map(|topic| topic.name().to_owned());
    names.filter(|name| !name.starts_with("__")).collect()
}

fn of_topic(pair: &Pair, topic: &str) -> Vec<Vec<u8>> {
    let mut client = ClientConfig::new();
    client.set("bootstrap.servers", pair.brokers()).set("group.id", "traces").set("enable.partition.eof", "true");
    let consumer: BaseConsumer = client.create().unwrap();
    let metadata = consumer.fetch_metadata(Some(topic), TIMEOUT).unwrap();
    let mut places = TopicPartitionList::new();
    for partition in metadata.topics()[0].partitions() {
        places.add_partition_offset(topic, partition.id(), Offset::Beginning).unwrap();
    }
    consumer.assign(&places).unwrap();
    let (mut found, mut open) = (Vec::new(), places.count());
    // The last offsets of a compacted topic may hold no record, so the end is not counted but reported by the client.
    while open > 0 {
        match consumer.poll(TIMEOUT).unwrap() {
            Err(KafkaError::PartitionEOF(_)) => open -= 1,
            polled => keep(&polled.unwrap(), &mut found),
        }
    }
    found
}

fn keep(record: &BorrowedMessage<'_>, found: &mut Vec<Vec<u8>>) {
    found.extend([record.key(), record.payload()].into_iter().flatten().map(<[u8]>::to_vec));
    let headers = record.headers().into_iter().flat_map(Headers::iter);
    found.extend(headers.map(|header| header.value.unwrap_or_default().to_vec()));
}

/// The name and everything in the value of every key of Redis, also as it reads unpacked.
///
/// # Panics
/// When Redis does not answer.
pub fn values(pair: &Pair) -> Vec<Vec<u8>> {
    let mut redis = pair.connection();
    let keys: Vec<Vec<u8>> = redis.keys("*").unwrap();
    let mut found = Vec::new();
    for key in keys {
        flatten(of_key(&mut redis, &key), &mut found);
        found.push(key);
    }
    let unpacked: Vec<_> = found.iter().filter_map(|bytes| unpack(bytes)).collect();
    found.extend(unpacked);
    found
}

fn of_key(redis: &mut Connection, key: &[u8]) -> Value {
    let kind: String = redis::cmd("TYPE").arg(key).query(redis).unwrap();
    match kind.as_str() {
        "string" => redis.get(key),
        "hash" => redis.hgetall(key),
        "set" => redis.smembers(key),
        "zset" => redis.zrange(key, 0, -1),
        other => panic!("{} is a {other}, which nothing here writes", String::from_utf8_lossy(key)),
    }
    .unwrap()
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "Redis answers these questions with strings and collections of them"
)]
fn flatten(value: Value, found: &mut Vec<Vec<u8>>) {
    match value {
        Value::BulkString(bytes) => found.push(bytes),
        Value::SimpleString(text) => found.push(text.into_bytes()),
        Value::Array(items) | Value::Set(items) => items.into_iter().for_each(|item| flatten(item, found)),
        Value::Map(pairs) => pairs.into_iter().for_each(|(name, value)| {
            flatten(name, found);
            flatten(value, found);
        }),
        other => found.push(format!("{other:?}").into_bytes()),
    }
}

fn unpack(bytes: &[u8]) -> Option<Vec<u8>> {
    let begin = bytes.windows(ZSTD.len()).position(|window| window == ZSTD)?;
    Some(zstd::decode_all(&bytes[begin..]).unwrap())
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_key_fits_its_own_kind() {
        assert!(
            fits("{due:NN}:at", "{due:07}:at") && fits("{wh:<id>}", "{wh:wh_1}") && fits("stats:<hour>", "stats:1")
        );
        assert!(
            fits("{ep:<hash>}:setting:<config_id>", "{ep:0f}:setting:acme:eu")
                && fits("dead:configs", "dead:configs")
        );
        assert!(!fits("{ep:<hash>}", "{ep:0f}:setting:acme") && !fits("dead:configs", "dead:configs:more"));
    }
}
