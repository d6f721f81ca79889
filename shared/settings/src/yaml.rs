//! Reads YAML into the same tree that JSON variables give, with a budget.
//!
//! Called by `document`. Aliases are followed, but every copy is paid from the budget, so an alias bomb ends
//! early; the YAML library itself bounds nesting. Refused: a key given twice, tags, more than one document.

use std::cell::Cell;
use std::fmt;

use serde::de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// How many nodes a file may expand to, after aliases.
const NODES_MAX: u32 = 100_000;

/// How many `[` and `{` a file may hold: the time that the YAML library takes grows with the square of those
/// left open.
const BRACKETS_MAX: usize = 10_000;

/// Reads one document.
///
/// # Errors
/// Where and why the text is not acceptable YAML.
pub(crate) fn parse(text: &str) -> Result<Value, serde_yaml_ng::Error> {
    if text.lines().all(is_blank) {
        return Ok(Value::Null);
    }
    if text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count() > BRACKETS_MAX {
        let problem = format!("the file opens more than {BRACKETS_MAX} brackets; write lists and maps over lines");
        return Err(de::Error::custom(problem));
    }
    let budget = Cell::new(NODES_MAX);
    Node { budget: &budget }.deserialize(serde_yaml_ng::Deserializer::from_str(text))
}

fn is_blank(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

#[derive(Clone, Copy)]
struct Node<'a> {
    budget: &'a Cell<u32>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let left = self.budget.get().checked_sub(1);
        let left =
            left.ok_or_else(|| de::Error::custom(format_args!("the file expands to more than {NODES_MAX} values")))?;
        self.budget.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a section, a list, text, a number, true or false")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
        Ok(Value::String(value.to_string()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::String(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or_else(|| Value::String(value.to_string()), Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self)?;
            if map.contains_key(&key) {
                return Err(de::Error::custom(format_args!("the key {key:?} is given twice")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// The line of the key at `path`, counted from 1; none when there is no such key.
///
/// Only errors of the YAML library carry positions, so this is a second pass that stops with an error at the key.
pub(crate) fn line_of(text: &str, path: &[&str]) -> Option<usize> {
    let reached = Cell::new(false);
    let walk = Walk { path, reached: &reached };
    let stopped = walk.deserialize(serde_yaml_ng::Deserializer::from_str(text)).err()?;
    stopped.location().filter(|_| reached.get()).map(|location| location.line())
}

/// Goes down to the key at `path`.
#[derive(Clone, Copy)]
struct Walk<'a> {
    path: &'a [&'a str],
    reached: &'a Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a section")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Some((first, rest)) = self.path.split_first() else { return Ok(()) };
        let is_last = rest.is_empty();
        while let Some(is_first) = entries.next_key_seed(Step { name: first, is_last, reached: self.reached })? {
            if is_first {
                return entries.next_value_seed(Walk { path: rest, ..self });
            }
            entries.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// Compares one key, and stops at the last of the path.
struct Step<'a> {
    name: &'a str,
    is_last: bool,
    reached: &'a Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Step<'_> {
    type Value = bool;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Step<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<bool, E> {
        if key == self.name && self.is_last {
            self.reached.set(true);
            return Err(E::custom("the key is reached"));
        }
        Ok(key == self.name)
    }
}
