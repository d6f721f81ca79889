//! What is wrong with the settings, all of it at once.
//!
//! Built by the reader, shown by the binary that could not start. No secret is ever part of a text here: the kinds that
//! parse secrets do not put the value into their problem.

use std::fmt;

use thiserror::Error;

use crate::key::outside_of_file;

/// One thing to correct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationError {
    place: String,
    problem: String,
    keys: Vec<String>,
}

impl ValidationError {
    pub(crate) fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { place: place.into(), problem: problem.into(), keys: Vec::new() }
    }

    /// The error of a key that shows only when its value is put to use. `problem` holds no secret.
    pub fn of(key: impl Into<String>, problem: impl Into<String>) -> Self {
        let key = key.into();
        Self::new(outside_of_file(&key), problem).among([key])
    }

    /// The same, of these keys together.
    pub(crate) fn among(self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { keys: keys.into_iter().map(Into::into).collect(), ..self }
    }

    /// The same, found at another place.
    pub(crate) fn at(self, place: String) -> Self {
        Self { place, ..self }
    }

    /// The key that is blamed, when a key is.
    pub(crate) fn key(&self) -> Option<&str> {
        self.keys.first().map(String::as_str)
    }

    /// Whether it may be the cause of another one, since it is of one of the same keys.
    pub(crate) fn explains(&self, other: &Self) -> bool {
        other.keys.iter().any(|key| self.keys.contains(key))
    }

    /// Where: `config.yaml:12 retry.jitter` for a key of the file, `retry.jitter (HOWK_RETRY_JITTER)` for a variable or a
    /// key that is not set, or the path of the file.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What: the value that was found, unless it is a secret, and what is allowed.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for ValidationError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.problem)
    }
}

/// Every error that was found; never empty. Shown as one line each, below a headline.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}:\n  {}", self.headline(), self.lines().join("\n  "))]
pub struct SettingsErrors(pub(crate) Vec<ValidationError>);

impl SettingsErrors {
    /// The errors: of the file, then of keys in the order of the reference, then of unknown keys and variables.
    pub fn errors(&self) -> &[ValidationError] {
        &self.0
    }

    /// All of them as one line, for a log whose lines are read one by one.
    pub fn on_one_line(&self) -> String {
        format!("{}: {}", self.headline(), self.lines().join("; "))
    }

    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        "settings"
    }

    fn headline(&self) -> String {
        let noun = if self.0.len() == 1 { "error" } else { "errors" };
        format!("{} {noun} in the settings", self.0.len())
    }

    fn lines(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }
}
