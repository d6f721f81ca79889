//! A fault: howk's own part failed. What an endpoint does is an outcome, never a fault.

use std::error::Error;
use std::fmt;

/// What kind of fault it is, which decides who acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// It may pass: hand the record back, it will come again.
    Transient,
    /// A limit of ours is reached: tell the caller to come back later.
    OverLimit,
    /// It will not pass without an operator.
    Permanent,
}

impl FaultKind {
    /// The stable code of the kind, which functions report as their error type.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::OverLimit => "over_limit",
            Self::Permanent => "permanent",
        }
    }
}

/// A failure of the log, the store or another part of howk.
#[derive(Debug)]
pub struct Fault {
    /// What kind of fault it is.
    pub kind: FaultKind,
    context: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Fault {
    /// A fault without a deeper cause.
    pub fn new(kind: FaultKind, context: impl Into<String>) -> Self {
        Self { kind, context: context.into(), source: None }
    }

    /// A fault with the error that caused it.
    pub fn caused(kind: FaultKind, context: impl Into<String>, source: impl Error + Send + Sync + 'static) -> Self {
        Self { kind, context: context.into(), source: Some(Box::new(source)) }
    }

    /// What failed and why, down to the deepest cause, as one text.
    pub fn chain(&self) -> String {
        chain(self)
    }
}

/// The text of an error and of its causes, down to the deepest one.
pub fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        // The text of some errors ends with that of their cause already.
        if text.ends_with(&cause) { text } else { format!("{text}: {cause}") }
    })
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.context)
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| -> &(dyn Error + 'static) { source })
    }
}
