//! What is wrong with the settings, all of it at once.
//!
//! Built by the reader, shown by the binary that could not start. No secret is ever part of a text here: the
//! kinds that parse secrets do not put the value into their problem.

use std::fmt;

use thiserror::Error;

use crate::key::place;

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

    /// The mistake of a key that shows only when its value is put to use. `problem` holds no secret.
    pub fn of(key: impl Into<String>, problem: impl Into<String>) -> Self {
        let key = key.into();
        Self::new(place(&key), problem).among([key])
    }

    /// The same, of these keys together.
    pub(crate) fn among(self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { keys: keys.into_iter().map(Into::into).collect(), ..self }
    }

    /// Whether it may be the cause of another one, since it is of one of the same keys.
    pub(crate) fn explains(&self, other: &Self) -> bool {
        other.keys.iter().any(|key| self.keys.contains(key))
    }

    /// Where: `HOWK_RETRY_JITTER (retry.jitter)`, or the path of the file.
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

/// Every mistake that was found; never empty. Shown as one line each, below a headline.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", listed(.0))]
pub struct SettingsErrors(pub(crate) Vec<ValidationError>);

impl SettingsErrors {
    /// The mistakes: of the file, then of keys in the order of the reference, then unknown keys and
    /// variables.
    pub fn mistakes(&self) -> &[ValidationError] {
        &self.0
    }

    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        "settings"
    }
}

fn listed(mistakes: &[ValidationError]) -> String {
    let noun = if mistakes.len() == 1 { "mistake" } else { "mistakes" };
    let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    format!("{} {noun} in the settings:\n  {}", mistakes.len(), lines.join("\n  "))
}
