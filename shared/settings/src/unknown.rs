//! Finds keys and variables that no section declares, and guesses which one was meant.
//!
//! Called by `load` after every section was read. Values of unknown keys are never shown: a misspelt password is still a
//! password.

use serde_json::Value;

use crate::document::Document;
use crate::ignored::IGNORED;
use crate::key::variable;
use crate::reader::Reader;
use crate::validation_error::ValidationError;

/// How alike a suggestion must be, from 0 (nothing in common) to 1 (the same). Below this, names that share a few letters
/// by chance would be suggested.
const LIKENESS_MIN: f64 = 0.75;

/// How many unknown keys are named with their line: each costs a pass over the file, which may hold thousands of them.
const LINES_MAX: usize = 100;

/// Every unknown key of the file, then every unknown variable.
pub(crate) fn errors(reader: &Reader) -> Vec<ValidationError> {
    let known: Vec<&'static str> =
        reader.keys.iter().map(|key| key.path).chain(IGNORED.iter().map(|ignored| ignored.key)).collect();
    let mut errors = Vec::new();
    if let Some(document) = &reader.document {
        let mut walk = Walk { known: &known, document, errors };
        walk.children(&[], &document.tree);
        errors = walk.errors;
    }
    errors.extend(unknown_variables(reader, &known));
    errors
}

struct Walk<'a> {
    known: &'a [&'static str],
    document: &'a Document,
    errors: Vec<ValidationError>,
}

impl Walk<'_> {
    /// Looks at everything below a section; `path` is empty for the whole file.
    fn children(&mut self, path: &[&str], node: &Value) {
        match node {
            Value::Object(map) => {
                for (name, child) in map {
                    self.child(&[path, &[name.as_str()]].concat(), child);
                }
            }
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                self.add(path, "is a section: write its keys below it, indented");
            }
        }
    }

    fn child(&mut self, path: &[&str], node: &Value) {
        let key = path.join(".");
        if path.iter().any(|name| name.contains('.')) {
            self.add(path, "unknown key: a key below a section is written on its own line, indented, without dots");
        } else if self.known.contains(&key.as_str()) {
            // The kind of the key looks at everything below it.
        } else if self.known.iter().any(|known| is_below(known, &key)) {
            self.children(path, node);
        } else {
            let suggestion = did_you_mean(&key, self.names().into_iter(), key_likeness);
            self.add(path, &format!("unknown key; {suggestion}"));
        }
    }

    fn add(&mut self, path: &[&str], problem: &str) {
        let line = if self.errors.len() < LINES_MAX {
            self.document.line_of(path)
        } else {
            self.document.path.display().to_string()
        };
        self.errors.push(ValidationError::new(format!("{line} {}", path.join(".")), problem));
    }

    /// Every key and every section.
    fn names(&self) -> Vec<&'static str> {
        let sections = self.known.iter().filter_map(|key| key.rsplit_once('.')).map(|(section, _)| section);
        self.known.iter().copied().chain(sections).collect()
    }
}

fn unknown_variables(reader: &Reader, known: &[&'static str]) -> Vec<ValidationError> {
    let mut names: Vec<String> = known.iter().map(|key| variable(key)).collect();
    names.push("HOWK_CONFIG".to_owned());
    let is_known = |name: &String| {
        let is_of_tests = name.strip_prefix("HOWK_TEST_").is_some_and(|rest| !rest.is_empty());
        names.contains(name) || is_of_tests || IGNORED.iter().any(|ignored| ignored.has_variable(name))
    };
    let unknown = reader.variables.keys().filter(|name| name.starts_with("HOWK_") && !is_known(name));
    unknown
        .map(|name| {
            let suggestion = did_you_mean(name, names.iter().map(String::as_str), variable_likeness);
            ValidationError::new(name.clone(), format!("unknown variable; {suggestion}"))
        })
        .collect()
}

/// What to do about an unknown name: the most alike of the known ones, if any is alike enough.
fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>, likeness: fn(&str, &str) -> f64) -> String {
    let best = known.map(|known| (likeness(name, known), known)).max_by(|left, right| left.0.total_cmp(&right.0));
    match best.filter(|(likeness, _)| *likeness >= LIKENESS_MIN) {
        Some((_, known)) => format!("did you mean {known}?"),
        None => "remove it".to_owned(),
    }
}

/// The right name in the wrong section counts most, then a sibling's name, then the whole path.
fn key_likeness(path: &str, name: &str) -> f64 {
    let (section, key) = path.rsplit_once('.').unwrap_or(("", path));
    let (known_section, known_key) = name.rsplit_once('.').unwrap_or(("", name));
    if key == known_key {
        0.95
    } else if section == known_section {
        strsim::jaro_winkler(key, known_key)
    } else {
        strsim::normalized_damerau_levenshtein(path, name)
    }
}

fn variable_likeness(name: &str, known: &str) -> f64 {
    let [name, known] = [name, known].map(|text| text.trim_start_matches("HOWK_"));
    strsim::normalized_damerau_levenshtein(name, known)
}

fn is_below(key: &str, section: &str) -> bool {
    key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
}
