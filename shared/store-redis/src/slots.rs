//! The 16,384 slots of a cluster: the slot of a key, and the node that serves it.

use redis::{Cmd, RedisResult, Value, from_redis_value};

/// Where a node listens.
pub(crate) type Address = (String, u16);

/// The number of slots.
const SLOTS: u16 = 16_384;

/// The slot of a command's first key, which follows the name, or the script and the number of keys.
pub(crate) fn slot_of(cmd: &Cmd) -> u16 {
    let arg = |place: usize| match cmd.args_iter().nth(place) {
        Some(redis::Arg::Simple(bytes)) => bytes,
        _ => &[],
    };
    let place = if matches!(arg(0), b"EVALSHA" | b"EVAL") { 3 } else { 1 };
    crc16(tag(arg(place))) % SLOTS
}

/// The hash tag: the text in the first pair of braces, if there is any; else the whole key.
fn tag(key: &[u8]) -> &[u8] {
    let inside = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = key.get(open + 1..)?;
        let close = rest.iter().position(|byte| *byte == b'}')?;
        rest.get(..close)
    });
    inside.filter(|inside| !inside.is_empty()).unwrap_or(key)
}

/// CRC-16/XMODEM of each single byte.
const CRC_OF_BYTE: [u16; 256] = {
    let (mut table, mut byte) = ([0; 256], 0_u16);
    let mut rest: &mut [u16] = &mut table;
    while let Some((first, others)) = rest.split_first_mut() {
        let (mut crc, mut bit) = (byte << 8, 0);
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
            bit += 1;
        }
        *first = crc;
        byte += 1;
        rest = others;
    }
    table
};

/// CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, byte| {
        let [high, _] = crc.to_be_bytes();
        let place = usize::from(high ^ byte);
        (crc << 8) ^ CRC_OF_BYTE.get(place).copied().unwrap_or_default()
    })
}

/// Which node serves which slots.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SlotNodes {
    /// First and last slot, and the node, by slot.
    ranges: Vec<(u16, u16, Address)>,
}

impl SlotNodes {
    /// Reads a node's reply to `CLUSTER SLOTS`. A node that does not know its own name is reached at the address of the node that
    /// was `asked`.
    ///
    /// # Errors
    /// When the reply has another shape.
    pub(crate) fn read(reply: Value, asked: &Address) -> RedisResult<Self> {
        let mut ranges = Vec::new();
        for entry in from_redis_value::<Vec<Vec<Value>>>(reply)? {
            let mut parts = entry.into_iter();
            let (Some(first), Some(last), Some(node)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            let node: Vec<Value> = from_redis_value(node)?;
            let mut node = node.into_iter();
            let host: Option<String> = from_redis_value(node.next().unwrap_or(Value::Nil))?;
            let port: u16 = from_redis_value(node.next().unwrap_or(Value::Nil))?;
            let host = host.filter(|host| !host.is_empty() && host != "?").unwrap_or_else(|| asked.0.clone());
            ranges.push((from_redis_value(first)?, from_redis_value(last)?, (host, port)));
        }
        ranges.sort();
        Ok(Self { ranges })
    }

    /// The node of a slot; `None` while no node serves it.
    pub(crate) fn of(&self, slot: u16) -> Option<&Address> {
        let after = self.ranges.partition_point(|(first, ..)| *first <= slot);
        let (_, last, address) = self.ranges.get(after.checked_sub(1)?)?;
        (slot <= *last).then_some(address)
    }

    /// Every node.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Address> {
        self.ranges.iter().map(|(.., address)| address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(key: &str) -> u16 {
        slot_of(redis::cmd("GET").arg(key))
    }

    #[test]
    fn slots_are_those_of_redis() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!((slot("foo"), slot("bar"), slot("123456789")), (12_182, 5_061, 12_739));
        assert_eq!(slot("p:{foo}:bar"), slot("foo"));
        assert_ne!(slot("foo{}{bar}"), slot("bar"), "empty braces are no tag");
        assert_eq!(slot("foo{{bar}}zap"), slot("{bar"));
        let script = redis::cmd("EVALSHA").arg("0123").arg(2).arg("{foo}1").arg("{foo}2").clone();
        assert_eq!(slot_of(&script), slot("foo"));
    }

    fn node(host: Value, port: i64) -> Value {
        Value::Array(vec![host, Value::Int(port), Value::BulkString(b"id".to_vec())])
    }

    #[test]
    fn the_reply_to_cluster_slots_is_read() {
        let range = |first, last, node| Value::Array(vec![Value::Int(first), Value::Int(last), node]);
        let named = Value::BulkString(b"node-b".to_vec());
        let nameless = Value::BulkString(Vec::new());
        let reply = Value::Array(vec![range(9000, 16_383, node(named, 2)), range(0, 5000, node(nameless, 1))]);
        let nodes = SlotNodes::read(reply, &("asked".to_owned(), 1)).unwrap();
        let of = |slot| nodes.of(slot).map(|(host, port)| (host.as_str(), *port));
        assert_eq!((of(0), of(5000), of(5001)), (Some(("asked", 1)), Some(("asked", 1)), None));
        assert_eq!((of(8999), of(9000), of(16_383)), (None, Some(("node-b", 2)), Some(("node-b", 2))));
        assert_eq!(SlotNodes::default().of(0), None);
        assert!(SlotNodes::read(Value::Okay, &("asked".to_owned(), 1)).is_err());
    }
}
