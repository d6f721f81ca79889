//! Finds keys and variables that nobody read, and guesses what was meant.
//!
//! Called by `settings` after every section was read. Values of unknown keys are never shown: a misspelt
//! password is still a password.

use serde_json::Value;

use crate::key::{place, variable};
use crate::mistake::ValidationError;
use crate::reader::Reader;

/// How alike a suggestion must be, from 0 (nothing in common) to 1 (the same).
const LIKENESS_MIN: f64 = 0.75;

/// Every unknown key of the file, then every unknown variable.
pub(crate) fn mistakes(reader: &Reader) -> Vec<ValidationError> {
    let known: Vec<&'static str> = reader.keys.iter().map(|key| key.path).collect();
    let file = reader.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let mut walk = Walk { known: &known, file, mistakes: Vec::new() };
    walk.children("", &reader.file);
    let mut mistakes = walk.mistakes;
    mistakes.extend(unknown_variables(reader, &known));
    mistakes
}

struct Walk<'a> {
    known: &'a [&'static str],
    file: String,
    mistakes: Vec<ValidationError>,
}

impl Walk<'_> {
    /// Looks at everything below a section; `path` is empty for the whole file.
    fn children(&mut self, path: &str, node: &Value) {
        match node {
            Value::Object(map) => {
                for (name, child) in map {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    self.child(&path, name, child);
                }
            }
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                self.note(path, "is a section: write its keys below it, indented");
            }
        }
    }

    fn child(&mut self, path: &str, name: &str, node: &Value) {
        if self.known.contains(&path) && !name.contains('.') {
            return;
        }
        if name.contains('.') {
            self.note(path, "unknown key: a key below a section is written on its own line, indented, without dots");
        } else if self.known.iter().any(|key| is_below(key, path)) {
            self.children(path, node);
        } else {
            let guess = closest(path, &self.names());
            self.note(path, &format!("unknown key{}", suggestion(guess)));
        }
    }

    fn note(&mut self, path: &str, problem: &str) {
        self.mistakes.push(ValidationError::new(place(path), format!("{problem}, in {}", self.file)));
    }

    /// Every key and every section.
    fn names(&self) -> Vec<String> {
        let sections = self.known.iter().filter_map(|key| key.rsplit_once('.')).map(|(section, _)| section);
        self.known.iter().copied().chain(sections).map(str::to_owned).collect()
    }
}

fn unknown_variables(reader: &Reader, known: &[&'static str]) -> Vec<ValidationError> {
    let mut names: Vec<String> = known.iter().map(|key| variable(key)).collect();
    names.push("HOWK_CONFIG".to_owned());
    let mut prefixes: Vec<&str> = reader.keys.iter().filter_map(|key| key.entries_from).collect();
    prefixes.push("HOWK_TEST_");
    let ours = reader.variables.keys().filter(|name| name.starts_with("HOWK_"));
    let unknown = ours.filter(|name| {
        !names.contains(name) && !prefixes.iter().any(|prefix| name.len() > prefix.len() && name.starts_with(prefix))
    });
    unknown
        .map(|name| {
            let best = names.iter().map(|known| (variable_likeness(name, known), known));
            let best = best.max_by(|left, right| left.0.total_cmp(&right.0));
            let guess = best.filter(|(likeness, _)| *likeness >= LIKENESS_MIN).map(|(_, known)| known.clone());
            ValidationError::new(name.clone(), format!("unknown variable{}", suggestion(guess)))
        })
        .collect()
}

fn suggestion(guess: Option<String>) -> String {
    guess.map(|guess| format!("; did you mean {guess}?")).unwrap_or_default()
}

fn closest(path: &str, names: &[String]) -> Option<String> {
    let best = names.iter().map(|name| (key_likeness(path, name), name));
    let best = best.max_by(|left, right| left.0.total_cmp(&right.0));
    best.filter(|(likeness, _)| *likeness >= LIKENESS_MIN).map(|(_, name)| name.clone())
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
