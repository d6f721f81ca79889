//! Reads keys from variables, file and defaults, and remembers what it saw.
//!
//! Called by the declared sections. It records every key that is read, which makes the masked print, the
//! reference table and the search for unknown keys possible without a second list. It never stops at a
//! mistake.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::effective::{Origin, ReadKey};
use crate::file::Found;
use crate::key::{Key, place, variable};
use crate::kinds::{Kind, Or, plain};
use crate::mistake::ValidationError;
use crate::sources::Environment;

/// The sources, and everything noticed while reading them.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) file: Value,
    pub(crate) path: Option<PathBuf>,
    pub(crate) variables: BTreeMap<String, String>,
    unavailable: BTreeMap<String, String>,
    pub(crate) keys: Vec<ReadKey>,
    pub(crate) mistakes: Vec<ValidationError>,
    wrong: BTreeSet<&'static str>,
    pub(crate) broken: bool,
}

impl Reader {
    /// A reader over what was found.
    pub(crate) fn new(found: Found, environment: &dyn Environment) -> Self {
        let mut reader = Self {
            file: Value::Null,
            path: None,
            variables: environment.variables(),
            unavailable: environment.unavailable(),
            keys: Vec::new(),
            mistakes: Vec::new(),
            wrong: BTreeSet::new(),
            broken: false,
        };
        match found {
            Found::Nothing => {}
            Found::Tree(path, tree) => {
                reader.path = Some(path);
                reader.file = tree;
            }
            Found::Broken(mistake) => {
                reader.mistakes.push(mistake);
                reader.broken = true;
            }
        }
        reader
    }

    /// The value of a key: variable over file over default. A wrong value is noted, and the default returned.
    pub(crate) fn read<K: Kind>(&mut self, key: Key, setting: Or<K>) -> K::Value {
        let Or { kind, default } = setting;
        let default_text = plain(&kind.show(&default));
        let (value, origin) = match self.find(key.path, kind.entries_from()) {
            Err(problem) => {
                self.note(key.path, Origin::Environment, vec![problem]);
                (default, Origin::Default)
            }
            Ok(None) => (default, Origin::Default),
            Ok(Some((raw, origin))) => match kind.parse(&raw) {
                Ok(value) => (value, origin),
                Err(problems) => {
                    self.note(key.path, origin, problems);
                    (default, Origin::Default)
                }
            },
        };
        self.keys.push(ReadKey {
            path: key.path,
            help: key.help.trim(),
            allowed: kind.allowed(),
            entries_from: kind.entries_from(),
            default: default_text,
            value: plain(&kind.show(&value)),
            origin,
        });
        value
    }

    /// Whether somebody set a key that was read.
    pub(crate) fn is_set(&self, path: &str) -> bool {
        self.keys.iter().any(|key| key.path == path && key.origin != Origin::Default)
    }

    /// Notes that keys contradict each other; the first one is blamed. Silent when one of them is wrong by
    /// itself or
    /// the file could not be read, because then the contradiction may not be real.
    pub(crate) fn conflict(&mut self, keys: &[&'static str], problem: impl Into<String>) {
        if self.broken || keys.iter().any(|key| self.wrong.contains(key)) {
            return;
        }
        let Some(first) = keys.first() else { return };
        self.mistakes.push(ValidationError::new(place(first), problem).among(keys.iter().copied()));
    }

    fn note(&mut self, path: &'static str, origin: Origin, problems: Vec<String>) {
        self.wrong.insert(path);
        let source = match (origin, &self.path) {
            (Origin::File, Some(file)) => format!(", in {}", file.display()),
            (Origin::File | Origin::Environment | Origin::Default, _) => String::new(),
        };
        let mistakes =
            problems.into_iter().map(|problem| ValidationError::new(place(path), problem + &source).among([path]));
        self.mistakes.extend(mistakes);
    }

    /// What somebody set a key to.
    ///
    /// # Errors
    /// Why what was set could not be had.
    fn find(&self, path: &str, entries_from: Option<&'static str>) -> Result<Option<(Value, Origin)>, String> {
        match self.unavailable.get(&variable(path)) {
            Some(problem) => Err(problem.clone()),
            None => Ok(self.find_here(path, entries_from)),
        }
    }

    fn find_here(&self, path: &str, entries_from: Option<&'static str>) -> Option<(Value, Origin)> {
        let found = self.find_one(path);
        let Some(prefix) = entries_from else { return found };
        let entries = self.entries(prefix, &variable(path));
        if entries.is_empty() {
            return found;
        }
        match found.map(|(raw, _)| object(raw)) {
            None => Some((Value::Object(entries), Origin::Environment)),
            Some(Ok(mut map)) => {
                map.extend(entries);
                Some((Value::Object(map), Origin::Environment))
            }
            Some(Err(raw)) => Some((raw, Origin::Environment)),
        }
    }

    fn find_one(&self, path: &str) -> Option<(Value, Origin)> {
        if let Some(text) = self.variables.get(&variable(path)).filter(|text| !text.is_empty()) {
            return Some((Value::String(text.clone()), Origin::Environment));
        }
        let node = path.split('.').try_fold(&self.file, |node, part| node.get(part))?;
        (!node.is_null()).then(|| (node.clone(), Origin::File))
    }

    /// One entry for each variable that starts with `prefix`; the rest of its name, as it is spelled, is the
    /// key.
    fn entries(&self, prefix: &str, except: &str) -> Map<String, Value> {
        let matching = self.variables.iter().filter(|(name, text)| *name != except && !text.is_empty());
        matching
            .filter_map(|(name, text)| Some((name.strip_prefix(prefix)?, text)))
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, text)| (name.to_owned(), Value::String(text.clone())))
            .collect()
    }
}

fn object(raw: Value) -> Result<Map<String, Value>, Value> {
    match raw {
        Value::Object(map) => Ok(map),
        Value::String(text) => serde_json::from_str(&text).map_err(|_| Value::String(text)),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) => Err(other),
    }
}
