//! Why a function could not start.

use std::error::Error;
use std::fmt;

use delivery::fault::chain;

/// What is wrong with the deployment, with every cause, as one line.
pub struct StartError(String);

/// Any error that a main meets while it wires its adapters.
impl<E: Error> From<E> for StartError {
    fn from(error: E) -> Self {
        Self(on_one_line(&chain(&error)))
    }
}

impl StartError {
    /// An error that says what could not be done.
    #[must_use]
    pub fn of(what: &str, error: impl Into<Self>) -> Self {
        Self(format!("{what}: {}", error.into().0))
    }
}

/// A text as one line of a log.
pub(crate) fn on_one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
