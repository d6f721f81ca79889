//! Reads keys from variables, file and defaults, and records each.
//!
//! Called by the declared sections. It records every key that is read, which makes the masked print, the reference table
//! and the search for unknown keys possible without a second list. It never stops at an error.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::document::{Document, Found};
use crate::effective::{Origin, ReadKey};
use crate::key::{Key, outside_of_file, variable};
use crate::kinds::{Kind, Or, plain};
use crate::sources::Environment;
use crate::validation_error::ValidationError;

/// The sources, and everything noticed while reading them.
pub(crate) struct Reader {
    pub(crate) document: Option<Document>,
    pub(crate) variables: BTreeMap<String, String>,
    unavailable: BTreeMap<String, String>,
    pub(crate) keys: Vec<ReadKey>,
    pub(crate) errors: Vec<ValidationError>,
    wrong: BTreeSet<&'static str>,
    pub(crate) broken: bool,
}

impl Reader {
    /// A reader over what was found.
    pub(crate) fn new(found: Found, environment: &dyn Environment) -> Self {
        let mut reader = Self {
            document: None,
            variables: environment.variables(),
            unavailable: environment.unavailable(),
            keys: Vec::new(),
            errors: Vec::new(),
            wrong: BTreeSet::new(),
            broken: false,
        };
        match found {
            Found::Nothing => {}
            Found::Document(document) => reader.document = Some(document),
            Found::Broken(error) => {
                reader.errors.push(error);
                reader.broken = true;
            }
        }
        reader
    }

    /// What the file holds.
    pub(crate) fn tree(&self) -> &Value {
        self.document.as_ref().map_or(&Value::Null, |document| &document.tree)
    }

    /// The value of a key: variable over file over default. A wrong value is recorded as an error, and the default
    /// returned.
    pub(crate) fn read<K: Kind>(&mut self, key: Key, setting: Or<K>) -> K::Value {
        let Or { kind, default } = setting;
        let default_text = plain(&kind.show(&default));
        let (parsed, found_in) = match self.find(key.path) {
            Ok(None) => (None, Origin::Default),
            Ok(Some((raw, origin))) => (Some(kind.parse(&raw)), origin),
            Err(problem) => (Some(Err(vec![problem])), Origin::Environment),
        };
        let line = self.line_of(key.path, found_in);
        let (value, origin) = match parsed {
            None => (default, Origin::Default),
            Some(Ok(value)) => (value, found_in),
            Some(Err(problems)) => {
                self.add_errors(key.path, line.as_deref(), problems);
                (default, Origin::Default)
            }
        };
        self.keys.push(ReadKey {
            path: key.path,
            help: key.help.trim(),
            allowed: kind.allowed(),
            default: default_text,
            value: plain(&kind.show(&value)),
            origin,
            line,
        });
        value
    }

    /// Whether a key that was read is set.
    pub(crate) fn is_set(&self, path: &str) -> bool {
        self.keys.iter().any(|key| key.path == path && key.origin != Origin::Default)
    }

    /// Records that keys contradict each other. `problem` is said of the first key; the error stands at the first that is
    /// set. Silent when one of them is wrong by itself or the file could not be read, because then the contradiction may
    /// not be real.
    pub(crate) fn conflict(&mut self, keys: &[&'static str], problem: impl Into<String>) {
        if self.broken || keys.iter().any(|key| self.wrong.contains(key)) {
            return;
        }
        let Some(first) = keys.first() else { return };
        let blamed = keys.iter().find(|key| self.is_set(key)).unwrap_or(first);
        let problem = if blamed == first { problem.into() } else { format!("{first} {}", problem.into()) };
        let place = self.keys.iter().find(|key| key.path == *blamed).map(|key| key.place_of(blamed));
        let place = place.unwrap_or_else(|| outside_of_file(blamed));
        self.errors.push(ValidationError::new(place, problem).among(keys.iter().copied()));
    }

    fn add_errors(&mut self, path: &'static str, line: Option<&str>, problems: Vec<String>) {
        self.wrong.insert(path);
        let place = line.map_or_else(|| outside_of_file(path), |line| format!("{line} {path}"));
        let errors = problems.into_iter().map(|problem| ValidationError::new(place.clone(), problem).among([path]));
        self.errors.extend(errors);
    }

    /// Where the file sets a key.
    fn line_of(&self, path: &str, origin: Origin) -> Option<String> {
        let document = self.document.as_ref().filter(|_| origin == Origin::File)?;
        Some(document.line_of(&path.split('.').collect::<Vec<_>>()))
    }

    /// What a key is set to.
    ///
    /// # Errors
    /// Why the value that a variable names could not be had.
    fn find(&self, path: &str) -> Result<Option<(Value, Origin)>, String> {
        let variable = variable(path);
        if let Some(problem) = self.unavailable.get(&variable) {
            return Err(problem.clone());
        }
        if let Some(text) = self.variables.get(&variable).filter(|text| !text.is_empty()) {
            return Ok(Some((Value::String(text.clone()), Origin::Environment)));
        }
        let node = path.split('.').try_fold(self.tree(), |node, part| node.get(part));
        Ok(node.filter(|node| !node.is_null()).map(|node| (node.clone(), Origin::File)))
    }
}
