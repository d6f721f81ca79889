//! Why a policy cannot be built.

use thiserror::Error;

/// A number that a policy cannot work with.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field} {rule}")]
pub struct PolicyError {
    /// The field, as the settings name it.
    pub field: &'static str,
    /// What it must be.
    pub rule: &'static str,
}

/// The error of a rule that does not hold.
pub(crate) const fn broken(field: &'static str, rule: &'static str) -> PolicyError {
    PolicyError { field, rule }
}
