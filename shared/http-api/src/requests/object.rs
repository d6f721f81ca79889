//! Reads JSON objects leniently: every member stays raw text until the rule of its field reads it.
//!
//! So one wrong member does not hide the others, and a payload is scanned once and never parsed into values. Nesting
//! takes no stack: members that are not known are skipped without recursion.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::validation::{RequestError, ValidationErrors, pointer, unknown_name};

/// The most members that are looked at in one object: more than the headers of a webhook may have (`HEADERS_MAX`), so
/// that an object of too many headers is answered with that bound.
const MEMBERS_MAX: usize = 128;

/// A JSON string, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

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

/// One member of an object, as raw text; `None` when it is absent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member<'a>(Option<&'a RawValue>);

impl<'a> Member<'a> {
    /// The raw text, `null` included; `None` when the member is absent.
    pub(super) fn raw(self) -> Option<&'a str> {
        self.0.map(RawValue::get)
    }

    /// The raw text of an optional member; `null` counts as absent.
    pub(super) fn given(self) -> Option<&'a str> {
        self.raw().filter(|text| *text != "null")
    }

    /// The text of an optional member that must be a string.
    pub(super) fn text(self) -> Result<Option<Cow<'a, str>>, String> {
        self.given().map(text).transpose()
    }
}

/// A request body that [`request_body`] declares.
pub(super) trait RequestBody<'a>: Sized {
    /// The names of its fields.
    const FIELDS: &'static [&'static str];

    /// The members of these names, in the order of the fields.
    fn of(object: &Object<'a>) -> Self;

    /// Every member with its name.
    fn members(&self) -> Vec<(&'static str, Member<'a>)>;

    /// The members of these names; adds an error for each member that has another name, or is there twice.
    fn read(object: &Object<'a>, errors: &mut ValidationErrors) -> Self {
        object.check_names(Self::FIELDS, errors);
        Self::of(object)
    }
}

/// Declares a request body: the members that are read, with the schema that the document shows of each.
macro_rules! request_body {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident,)+ }) => {
        #[derive(Debug, Clone, Copy, utoipa::ToSchema)]
        $(#[$meta])*
        pub(crate) struct $name<'a> {
            $($(#[$field_meta])* $field: $crate::requests::object::Member<'a>,)+
        }

        impl<'a> $crate::requests::object::RequestBody<'a> for $name<'a> {
            const FIELDS: &'static [&'static str] = &[$(stringify!($field)),+];

            fn of(object: &$crate::requests::object::Object<'a>) -> Self {
                Self { $($field: object.member(stringify!($field)),)+ }
            }

            fn members(&self) -> Vec<(&'static str, $crate::requests::object::Member<'a>)> {
                vec![$((stringify!($field), self.$field)),+]
            }
        }
    };
}
pub(super) use request_body;

impl<'a> Object<'a> {
    /// The members in their order.
    pub(super) fn members(&self) -> &[(Cow<'a, str>, &'a RawValue)] {
        &self.members
    }

    /// Whether there were more members than are looked at.
    pub(super) fn has_more(&self) -> bool {
        self.has_more
    }

    /// The member of a name; of repeats, the first.
    pub(super) fn member(&self, name: &str) -> Member<'a> {
        Member(self.members.iter().find(|(member, _)| member == name).map(|(_, value)| *value))
    }

    /// Adds an error for each member that is not among `known`, and for each that is there twice.
    fn check_names(&self, known: &[&str], errors: &mut ValidationErrors) {
        for (index, (name, _)) in self.members.iter().enumerate() {
            if !known.contains(&name.as_ref()) {
                errors.add(&pointer("", name), unknown_name("field", name, known));
            } else if self.members.iter().take(index).any(|(earlier, _)| earlier == name) {
                errors.add(&pointer("", name), "is given twice");
            }
        }
        if self.has_more {
            errors.add("", format!("has more than {MEMBERS_MAX} members"));
        }
    }
}

/// Reads a whole body.
pub(super) fn body<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, RequestError> {
    let text = std::str::from_utf8(bytes).map_err(|error| RequestError::Malformed {
        line: 0,
        detail: format!("the body is not valid UTF-8: byte {} is wrong", error.valid_up_to() + 1),
    })?;
    serde_json::from_str(text)
        .map_err(|error| RequestError::Malformed { line: error.line(), detail: error.to_string() })
}

/// Reads a string.
pub(super) fn text(raw: &str) -> Result<Cow<'_, str>, String> {
    if !raw.starts_with('"') {
        return Err(format!("must be a string, not {}", kind(raw)));
    }
    let text = serde_json::from_str::<Text<'_>>(raw).map_err(|_| "has a \\u escape that stands for no character")?;
    Ok(text.0)
}

/// The kind of a raw value, in words.
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
    /// The object; adds an error of the item when it is something else.
    pub(super) fn object(self, errors: &mut ValidationErrors) -> Option<Object<'a>> {
        match self {
            Self::Object(object) => Some(object),
            Self::Other(kind) => {
                errors.add("", format!("must be an object, not {kind}"));
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

/// The first values of a list, and how many there are in all.
#[derive(Debug)]
pub(super) struct Listed<T> {
    pub(super) first: Vec<T>,
    pub(super) count: usize,
}

/// Reads a list; keeps its first `N` values, and counts the others.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_nesting_takes_no_stack() {
        let deep = format!("{}1{}", "[".repeat(500_000), "]".repeat(500_000));
        assert!(matches!(body::<Item<'_>>(deep.as_bytes()), Ok(Item::Other("a list"))));
        let member = format!("{{\"a\":{deep}}}");
        assert!(matches!(body::<Item<'_>>(member.as_bytes()), Ok(Item::Object(_))));
    }
}
