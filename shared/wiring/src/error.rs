//! What is wrong with settings that only show it when they are put to use.

use delivery::Fault;
use domain::PolicyError;
use settings::ValidationError;
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

/// As the settings tell of their own mistakes.
impl From<WiringError> for ValidationError {
    fn from(error: WiringError) -> Self {
        match error {
            WiringError::Policy(PolicyError { field, rule }) => Self::of(field, rule),
            WiringError::Key { key, problem } => Self::of(key, problem),
            WiringError::Lacking { key, feature } => {
                Self::of(key, format!("this build lacks it; the feature {feature} of wiring brings it"))
            }
            WiringError::NotFound { key, source } => Self::of(key, source.chain()),
        }
    }
}

/// The mistakes among what came of putting settings to use.
pub(crate) fn mistakes<T>(tried: impl IntoIterator<Item = Result<T, WiringError>>) -> Vec<ValidationError> {
    tried.into_iter().filter_map(Result::err).map(ValidationError::from).collect()
}
