//! What is wrong with settings that only show it when they are put to use.

use delivery::Fault;
use domain::PolicyError;
use thiserror::Error;

/// A setting that cannot be put to use: the deployment is wrong.
#[derive(Debug, Error)]
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
    /// A key asks for what was left out of this build.
    #[error("{key}: this build lacks it; the feature {feature} of wiring brings it")]
    Lacking {
        /// The key's path.
        key: &'static str,
        /// The feature.
        feature: &'static str,
    },
    /// What a key names could not be found.
    #[error("{key}")]
    NotFound {
        /// The key's path.
        key: &'static str,
        /// Why.
        source: Fault,
    },
}

impl WiringError {
    /// The error of a key.
    pub(crate) fn key(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Key { key: key.into(), problem: problem.into() }
    }
}
