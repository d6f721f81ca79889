//! The answers about health.

use crate::time;
use delivery::ports::recovery::Epoch;
use domain::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// The health of the store and the log.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HealthAnswer {
    /// `healthy` or `degraded`.
    #[schema(example = "healthy")]
    pub(crate) status: &'static str,
    /// Each part: `healthy` or `unhealthy`.
    pub(crate) components: Components,
    /// The last rebuild of the hot state; absent while it is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) epoch: Option<EpochBody>,
    /// Now.
    #[schema(format = DateTime)]
    pub(crate) timestamp: String,
}

/// The health of each part.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Components {
    /// The hot state.
    pub(crate) store: &'static str,
    /// The log.
    pub(crate) log: &'static str,
}

/// The last rebuild of the hot state.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EpochBody {
    /// Counts up with every rebuild.
    epoch: u64,
    /// When it was done.
    #[schema(format = DateTime)]
    completed_at: String,
    /// How long ago, in seconds.
    #[schema(example = "3600s")]
    age: String,
}

impl EpochBody {
    pub(crate) fn new(epoch: &Epoch, now: Timestamp) -> Self {
        Self {
            epoch: epoch.number,
            completed_at: time::write(epoch.completed_at),
            age: format!("{}s", now.since(epoch.completed_at).as_secs()),
        }
    }
}

/// Whether howk takes requests.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReadyAnswer {
    /// `ready` or `not ready`.
    #[schema(example = "ready")]
    pub(crate) status: &'static str,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<&'static str>,
}

/// The health of the dependencies.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DependenciesAnswer {
    /// `healthy` or `degraded`.
    #[schema(example = "healthy")]
    pub(crate) status: &'static str,
    /// Each of them.
    pub(crate) dependencies: Dependencies,
    /// Now.
    #[schema(format = DateTime)]
    pub(crate) timestamp: String,
}

/// Each dependency.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Dependencies {
    /// The hot state.
    pub(crate) store: DependencyBody,
    /// The log.
    pub(crate) log: DependencyBody,
}

/// One dependency.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DependencyBody {
    /// `healthy` or `unhealthy`.
    #[schema(example = "healthy")]
    pub(crate) status: &'static str,
    /// Why it is not healthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<&'static str>,
}
