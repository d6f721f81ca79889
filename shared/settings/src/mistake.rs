//! What is wrong with the settings, all of it at once.
//!
//! Built by the reader, shown by the binary that could not start. No secret is ever part of a text here: the
//! kinds that parse secrets do not put the value into their problem.

use std::fmt;

use thiserror::Error;

/// One thing to correct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    place: String,
    problem: String,
}

impl Mistake {
    pub(crate) fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { place: place.into(), problem: problem.into() }
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

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.problem)
    }
}

/// Every mistake that was found; never empty. Shown as one line each, below a headline.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", listed(.0))]
pub struct SettingsErrors(pub(crate) Vec<Mistake>);

impl SettingsErrors {
    /// The mistakes: of the file, then of keys in the order of the reference, then unknown keys and
    /// variables.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.0
    }

    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        "settings"
    }
}

fn listed(mistakes: &[Mistake]) -> String {
    let noun = if mistakes.len() == 1 { "mistake" } else { "mistakes" };
    let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    format!("{} {noun} in the settings:\n  {}", mistakes.len(), lines.join("\n  "))
}
