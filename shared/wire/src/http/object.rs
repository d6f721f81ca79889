//! Reads JSON objects leniently: every member stays raw text until its own rule reads it.
//!
//! So one wrong member does not hide the others, and a payload is scanned once and never parsed into values. Nesting
//! costs no stack: what is not ours is skipped without recursion.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::mistakes::{RequestError, ValidationErrors, pointer};

/// The most members that are looked at in one object.
const MEMBERS_MAX: usize = 128;

/// A JSON string, borrowed where it has no escapes.
#[derive(Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// A JSON value that should be an object.
#[derive(Debug)]
pub(super) enum Item<'a> {
    /// It is one.
    Object(Object<'a>),
    /// It is something else, named.
    Other(&'static str),
}

/// The members of an object, in their order, repeats included.
#[derive(Debug, Default)]
pub(super) struct Object<'a> {
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
    has_more: bool,
}

impl<'a> Object<'a> {
    /// The members in their order.
    pub(super) fn members(&self) -> &[(Cow<'a, str>, &'a RawValue)] {
        &self.members
    }

    /// Whether there were more members than are looked at.
    pub(super) fn has_more(&self) -> bool {
        self.has_more
    }

    /// The raw text of a member; `None` when it is absent.
    pub(super) fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.members.iter().find(|(member, _)| member == name).map(|(_, value)| *value)
    }

    /// The raw text of an optional member; `null` counts as absent.
    pub(super) fn given(&self, name: &str) -> Option<&'a str> {
        self.raw(name).map(RawValue::get).filter(|text| *text != "null")
    }

    /// An optional member that must be a string.
    pub(super) fn text(&self, name: &str) -> Result<Option<Cow<'a, str>>, String> {
        self.given(name).map(text).transpose()
    }

    /// Notes members that are not among `known`, and members that are there twice.
    pub(super) fn check_names(&self, known: &[&str], mistakes: &mut ValidationErrors) {
        for (index, (name, _)) in self.members.iter().enumerate() {
            if !known.contains(&name.as_ref()) {
                mistakes.note(&pointer("", name), unknown(name, known));
            } else if self.members.iter().take(index).any(|(earlier, _)| earlier == name) {
                mistakes.note(&pointer("", name), "is given twice");
            }
        }
        if self.has_more {
            mistakes.note("", format!("has more than {MEMBERS_MAX} members"));
        }
    }
}

/// Reads a whole body.
pub(super) fn body<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, RequestError> {
    let text = std::str::from_utf8(bytes).map_err(|error| RequestError::Malformed {
        line: 0,
        column: 0,
        detail: format!("the body is not valid UTF-8: byte {} is wrong", error.valid_up_to() + 1),
    })?;
    serde_json::from_str(text).map_err(|error| RequestError::Malformed {
        line: error.line(),
        column: error.column(),
        detail: error.to_string(),
    })
}

/// Reads a string.
pub(super) fn text(raw: &str) -> Result<Cow<'_, str>, String> {
    if !raw.starts_with('"') {
        return Err(format!("must be a string, not {}", kind(raw)));
    }
    let text = serde_json::from_str::<Text<'_>>(raw).map_err(|_| "has a \\u escape that stands for no character")?;
    Ok(text.0)
}

/// What a raw value is, in words.
pub(super) fn kind(raw: &str) -> &'static str {
    match raw.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

impl<'a> Item<'a> {
    /// The object, or a mistake of the item itself.
    pub(super) fn object(self, mistakes: &mut ValidationErrors) -> Option<Object<'a>> {
        match self {
            Self::Object(object) => Some(object),
            Self::Other(kind) => {
                mistakes.note("", format!("must be an object, not {kind}"));
                None
            }
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Item<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor(std::marker::PhantomData))
    }
}

struct ItemVisitor<'a>(std::marker::PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for ItemVisitor<'a> {
    type Value = Item<'a>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut object = Object { members: Vec::with_capacity(8), has_more: false };
        while object.members.len() < MEMBERS_MAX {
            let Some((name, value)) = map.next_entry::<Text<'de>, &'de RawValue>()? else {
                return Ok(Item::Object(object));
            };
            object.members.push((name.0, value));
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            object.has_more = true;
        }
        Ok(Item::Object(object))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Item::Other("a list"))
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Item::Other("a string"))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Item::Other("a boolean"))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Item::Other("null"))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Item::Other("a number"))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Item::Other("a number"))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Item::Other("a number"))
    }
}

/// The first values of a list, and how many there are; `None` when it is no list.
#[derive(Debug)]
pub(super) struct Listed<T> {
    pub(super) first: Vec<T>,
    pub(super) count: usize,
}

/// Reads a list and keeps its first `N` values; the others are only counted.
#[derive(Debug)]
pub(super) struct Bounded<T, const N: usize>(pub(super) Listed<T>);

impl<'de, T: Deserialize<'de>, const N: usize> Deserialize<'de> for Bounded<T, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(BoundedVisitor::<T, N>(std::marker::PhantomData))
    }
}

struct BoundedVisitor<T, const N: usize>(std::marker::PhantomData<T>);

impl<'de, T: Deserialize<'de>, const N: usize> Visitor<'de> for BoundedVisitor<T, N> {
    type Value = Bounded<T, N>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut first = Vec::new();
        while first.len() < N {
            let Some(value) = list.next_element()? else {
                let count = first.len();
                return Ok(Bounded(Listed { first, count }));
            };
            first.push(value);
        }
        let mut count = N;
        while list.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(Bounded(Listed { first, count }))
    }
}

fn unknown(name: &str, known: &[&str]) -> String {
    let closest = known.iter().map(|known| (distance(name, known), known)).min();
    match closest {
        Some((distance, known)) if distance <= known.len() / 3 => {
            format!("is not a known field; did you mean \"{known}\"?")
        }
        _ => format!("is not a known field; known are {}", known.join(", ")),
    }
}

/// The edit distance of two names, without case; far for long ones.
fn distance(one: &str, other: &str) -> usize {
    if one.len() > 40 {
        return usize::MAX;
    }
    let (one, other) = (one.to_ascii_lowercase(), other.to_ascii_lowercase());
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, byte) in one.bytes().enumerate() {
        let mut diagonal = index;
        let mut left = index + 1;
        let mut next = vec![left];
        for (above, other_byte) in row.iter().skip(1).zip(other.bytes()) {
            left = (diagonal + usize::from(byte != other_byte)).min(left + 1).min(above + 1);
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_finds_typos() {
        assert_eq!(distance("max_attempt", "max_attempts"), 1);
        assert_eq!(distance("Payload", "payload"), 0);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert!(unknown("max_attempt", &["endpoint", "max_attempts"]).contains("did you mean \"max_attempts\""));
        assert!(unknown("zzz", &["endpoint", "payload"]).contains("known are endpoint, payload"));
    }

    #[test]
    fn deep_nesting_costs_no_stack() {
        let deep = format!("{}1{}", "[".repeat(500_000), "]".repeat(500_000));
        assert!(matches!(body::<Item<'_>>(deep.as_bytes()), Ok(Item::Other("a list"))));
        let member = format!("{{\"a\":{deep}}}");
        assert!(matches!(body::<Item<'_>>(member.as_bytes()), Ok(Item::Object(_))));
    }
}
