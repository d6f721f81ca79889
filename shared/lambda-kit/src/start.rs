//! Why a function could not start.

use std::error::Error;
use std::fmt;

/// What is wrong with the deployment, with every cause, as one line.
pub struct StartError(String);

/// Whatever a main comes across while it wires its adapters.
impl<E: Error> From<E> for StartError {
    fn from(error: E) -> Self {
        let causes = std::iter::successors(error.source(), |cause| (*cause).source());
        let text = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
        Self(text.lines().map(str::trim).collect::<Vec<_>>().join(" "))
    }
}

impl StartError {
    /// An error that says what could not be done.
    #[must_use]
    pub fn of(what: &str, error: impl Into<Self>) -> Self {
        Self(format!("{what}: {}", error.into().0))
    }
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
