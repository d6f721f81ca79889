//! Why a policy cannot be built.

use std::fmt::Debug;
use std::ops::RangeInclusive;

use thiserror::Error;

/// A number that a policy cannot work with.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field} {rule}")]
pub struct PolicyError {
    /// The field, as the settings name it.
    pub field: &'static str,
    /// What it must be.
    pub rule: String,
}

/// Checks that a field is within its bounds, which the settings take from the same constant.
pub(crate) fn within<T: PartialOrd + Debug>(
    field: &'static str,
    bounds: &RangeInclusive<T>,
    value: &T,
) -> Result<(), PolicyError> {
    if bounds.contains(value) {
        return Ok(());
    }
    Err(broken(field, format!("must be between {:?} and {:?}", bounds.start(), bounds.end())))
}

/// The error of a rule that does not hold.
pub(crate) fn broken(field: &'static str, rule: impl Into<String>) -> PolicyError {
    PolicyError { field, rule: rule.into() }
}
