//! JSON values with a version: `"v":1` in every one of them.
//!
//! A reader skips unknown fields, so a field can be added without a new version. An unknown version is an error that names
//! it.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::unreadable::{Unreadable, beginning};

/// The version that is written, and the only one that is read.
const VERSION: u64 = 1;

/// The field `v`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version;

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(VERSION)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u64::deserialize(deserializer)? {
            VERSION => Ok(Self),
            other => Err(D::Error::custom(format_args!("unknown version {other}, this reads version {VERSION}"))),
        }
    }
}

/// Only the version of a value.
#[derive(Deserialize)]
struct Versioned<'a> {
    #[serde(borrow)]
    v: Option<&'a RawValue>,
}

/// Writes a value; `room` is about how many bytes it takes.
pub(crate) fn write(value: &impl Serialize, room: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(room);
    let written = serde_json::to_writer(&mut bytes, value);
    #[expect(clippy::expect_used, reason = "memory takes every write, and no value here has a key that is not text")]
    written.expect("DL-1: every record can be written");
    bytes
}

/// Reads a value; a second pass is only made to explain an error.
pub(crate) fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Unreadable> {
    serde_json::from_slice(bytes).map_err(|error| foreign_version(bytes).unwrap_or_else(|| readable(&error)))
}

/// The error of a value whose version is missing or unknown; it explains more than the first parse error.
fn foreign_version(bytes: &[u8]) -> Option<Unreadable> {
    let Versioned { v } = serde_json::from_slice(bytes).ok()?;
    match v.map(RawValue::get) {
        None => {
            Some(Unreadable::whole(format!("no version: the field \"v\" is missing, this reads version {VERSION}")))
        }
        Some("1") => None,
        Some(other) => {
            Some(Unreadable::whole(format!("unknown version {}, this reads version {VERSION}", beginning(other))))
        }
    }
}

/// The parse error of a value, for people.
fn readable(error: &serde_json::Error) -> Unreadable {
    Unreadable::whole(format!("not a readable record: {}", without_quoted_text(&error.to_string())))
}

/// A parser's error without the string that it quotes, which may be a secret (SE-1).
pub(crate) fn without_quoted_text(error: &str) -> String {
    let without = error.split_once(": string \"").and_then(|(problem, quoting)| {
        let (_, expected) = quoting.rsplit_once("\", expected ")?;
        Some(format!("{problem}: a string, expected {expected}"))
    });
    without.unwrap_or_else(|| error.to_owned())
}
