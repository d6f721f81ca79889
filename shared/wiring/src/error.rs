//! What is wrong with settings that only show it when they are put to use.

use domain::PolicyError;
use thiserror::Error;

/// A setting that cannot be put to use: the deployment is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WiringError {
    /// A rule of the domain is broken; the text names the key.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The value of a key cannot be used.
    #[error("{key}: {problem}")]
    Key {
        /// The key's path, as `redis.addr`.
        key: String,
        /// What is wrong with its value, without the value of a secret.
        problem: String,
    },
}

impl WiringError {
    /// The error of a key.
    pub(crate) fn key(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Key { key: key.into(), problem: problem.into() }
    }
}
