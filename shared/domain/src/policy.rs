//! The numbers that the decisions go by, validated once.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use crate::circuit::CircuitPolicy;
use crate::lane::LanePolicy;
use crate::release_window::ReleasePolicy;
use crate::retry::RetryPolicy;

/// What happens when the store cannot say whether a circuit is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnStoreFailure {
    /// No request is made: the record is redelivered.
    #[default]
    Closed,
    /// Requests are made as if the circuit were closed.
    Open,
}

/// How many requests may be under way at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InflightLimits {
    /// Per endpoint: 1 to [`Self::MAX`].
    pub endpoint: u32,
    /// Per domain; `None` for no limit.
    pub domain: Option<NonZeroU32>,
    /// Per domain by name, lower case, in place of `domain`; `None` lifts the limit of that domain.
    pub domain_overrides: BTreeMap<String, Option<NonZeroU32>>,
}

impl InflightLimits {
    /// The highest limit that can be set.
    pub const MAX: u32 = 100_000;

    /// The limit of one domain, `None` for no limit.
    pub fn of_domain(&self, domain: &str) -> Option<u32> {
        self.domain_overrides.get(domain).copied().unwrap_or(self.domain).map(NonZeroU32::get)
    }
}

impl Default for InflightLimits {
    fn default() -> Self {
        Self { endpoint: 50, domain: None, domain_overrides: BTreeMap::new() }
    }
}

/// Whether a dead letter keeps the beginning of the last answer's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResponseBody {
    /// It is kept.
    #[default]
    Kept,
    /// It is not kept: it may hold what must not be stored.
    Dropped,
}

/// Everything that the decisions go by.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    /// When a failed attempt is repeated.
    pub retry: RetryPolicy,
    /// How a cooldown's webhooks are spread.
    pub release: ReleasePolicy,
    /// When a circuit opens and closes.
    pub circuit: CircuitPolicy,
    /// How long requests may take, and what is slow.
    pub lanes: LanePolicy,
    /// How many requests may be under way.
    pub inflight: InflightLimits,
    /// What to do when the circuit is unknown.
    pub on_store_failure: OnStoreFailure,
    /// What a dead letter keeps of the last answer.
    pub response_body: ResponseBody,
}
