//! Lists and maps. In a variable: JSON, or for a list also texts between commas.

use std::collections::BTreeMap;

use serde_json::Value;

use super::text::{Rule, Text, text};
use super::{Kind, Parsed, problem, quoted};

/// A list of one kind.
#[derive(Debug)]
pub(crate) struct List<K>(K);

/// A list of one kind.
pub(crate) fn list<K: Kind>(kind: K) -> List<K> {
    List(kind)
}

impl<K: Kind> Kind for List<K> {
    type Value = Vec<K::Value>;

    fn allowed(&self) -> String {
        format!("a list, each item {}", self.0.allowed())
    }

    fn parse(&self, raw: &Value) -> Parsed<Self::Value> {
        let items = match raw {
            Value::Array(items) => items.clone(),
            Value::String(text) if text.trim_start().starts_with('[') => match serde_json::from_str(text) {
                Ok(items) => items,
                Err(error) => return problem(format!("not a JSON list: {error}")),
            },
            Value::String(text) => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                items.map(Value::from).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                return problem(format!("{} is not a list", quoted(raw)));
            }
        };
        all(items.iter().map(|item| self.0.parse(item)))
    }

    fn show(&self, value: &Self::Value) -> Value {
        value.iter().map(|item| self.0.show(item)).collect()
    }

    fn is_secret(&self) -> bool {
        self.0.is_secret()
    }
}

/// A map from names to values of one kind.
#[derive(Debug)]
pub(crate) struct Map<N, K> {
    name: N,
    kind: K,
}

/// A map from any name to one kind.
pub(crate) fn map<K: Kind>(kind: K) -> Map<Text, K> {
    Map { name: text(Rule::ANY), kind }
}

impl<N, K> Map<N, K> {
    /// The kind of the names, which may also bring them into one form.
    pub(crate) fn named<M: Kind<Value = String>>(self, name: M) -> Map<M, K> {
        Map { name, kind: self.kind }
    }
}

impl<N: Kind<Value = String>, K: Kind> Kind for Map<N, K> {
    type Value = BTreeMap<String, K::Value>;

    fn allowed(&self) -> String {
        format!("a map (JSON in a variable), each value {}", self.kind.allowed())
    }

    fn parse(&self, raw: &Value) -> Parsed<Self::Value> {
        let json = match raw {
            Value::String(text) => match serde_json::from_str(text) {
                Ok(json) => Some(json),
                Err(error) => return problem(format!("not a JSON object: {error}")),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
        };
        let Value::Object(object) = json.as_ref().unwrap_or(raw) else {
            let shown = if self.is_secret() { "[REDACTED]".to_owned() } else { quoted(raw) };
            return problem(format!("{shown} is not a map, such as {{\"name\": value}}"));
        };
        let entries = all(object.iter().map(|(name, value)| self.entry(name, value)))?;
        let mut map = BTreeMap::new();
        for (name, value) in entries {
            if map.insert(name.clone(), value).is_some() {
                return problem(format!("{name:?} is given twice, in two spellings"));
            }
        }
        Ok(map)
    }

    fn show(&self, value: &Self::Value) -> Value {
        value.iter().map(|(name, value)| (name.clone(), self.kind.show(value))).collect()
    }

    fn is_secret(&self) -> bool {
        self.kind.is_secret()
    }
}

impl<N: Kind<Value = String>, K: Kind> Map<N, K> {
    fn entry(&self, name: &str, value: &Value) -> Parsed<(String, K::Value)> {
        let parsed = self.kind.parse(value).map_err(|problems| {
            problems.into_iter().map(|problem| format!("entry {name:?}: {problem}")).collect::<Vec<_>>()
        });
        match (self.name.parse(&Value::from(name)), parsed) {
            (Ok(name), Ok(value)) => Ok((name, value)),
            (Ok(_), Err(problems)) => Err(problems),
            (Err(mut names), values) => {
                names.extend(values.err().into_iter().flatten());
                Err(names)
            }
        }
    }
}

/// The fields of a small object, in the order of `names`; one that is missing is null, an unknown one is a
/// problem.
pub(crate) fn fields<const N: usize>(raw: &Value, names: [&str; N]) -> Parsed<[Value; N]> {
    let Value::Object(object) = raw else {
        return problem(format!("must be a map with {}", names.join(" and ")));
    };
    let unknown = object.keys().filter(|name| !names.contains(&name.as_str()));
    let unknown: Vec<String> =
        unknown.map(|name| format!("unknown field {name:?}; allowed: {}", names.join(", "))).collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    Ok(names.map(|name| object.get(name).cloned().unwrap_or(Value::Null)))
}

/// All values, or all problems.
fn all<T>(results: impl Iterator<Item = Parsed<T>>) -> Parsed<Vec<T>> {
    let (mut values, mut problems) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() { Ok(values) } else { Err(problems) }
}
