//! Mistakes in settings that only show when the settings are used.

use delivery::Fault;
use domain::PolicyError;
use settings::ValidationError;
use thiserror::Error;

/// A setting that cannot be used: the deployment is wrong.
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
    /// The value of a key needs a feature that this build leaves out.
    #[error("{key}: {}", lacking(feature))]
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

fn lacking(feature: &str) -> String {
    format!("this build does not support this value; build wiring with the feature {feature}, or change the value")
}

impl WiringError {
    /// The error of a key.
    pub(crate) fn key(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Key { key: key.into(), problem: problem.into() }
    }
}

/// In the form of the settings' own mistakes, so that both are listed together.
impl From<WiringError> for ValidationError {
    fn from(error: WiringError) -> Self {
        match error {
            WiringError::Policy(PolicyError { field, rule }) => Self::of(field, rule),
            WiringError::Key { key, problem } => Self::of(key, problem),
            WiringError::Lacking { key, feature } => Self::of(key, lacking(feature)),
            WiringError::NotFound { key, source } => Self::of(key, source.chain()),
        }
    }
}

/// The mistakes among these results.
pub(crate) fn mistakes<T>(tried: impl IntoIterator<Item = Result<T, WiringError>>) -> Vec<ValidationError> {
    tried.into_iter().filter_map(Result::err).map(ValidationError::from).collect()
}
