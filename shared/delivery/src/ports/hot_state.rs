//! Port `hot state`: the two round trips of an attempt, acquire and apply, and the rare third.

use async_trait::async_trait;
use domain::{ClaimRequest, Dispatch, EndpointState, Facts, Pace, Timestamp, Transition, Write};

use crate::fault::Fault;

/// What *acquire* takes and reads.
#[derive(Debug, Clone)]
pub struct AcquireRequest<'a> {
    /// The dispatch to work on.
    pub dispatch: &'a Dispatch,
    /// The claim to take; the leases end with it.
    pub claim: ClaimRequest,
    /// The endpoint's in-flight limit.
    pub endpoint_limit: u32,
    /// The domain's in-flight limit, if it has one.
    pub domain_limit: Option<u32>,
    /// The pace to take a token of, in the slow lane.
    pub pace: Option<Pace>,
    /// The time.
    pub now: Timestamp,
}

/// What became of a compare-and-set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Made; the state as it is now.
    Made(EndpointState),
    /// Another change was faster; the state as it is now.
    Lost(EndpointState),
}

/// Hot state around one request.
///
/// Contract: every part of an `acquire`, every write of an `apply` and every `change` is atomic on its own. Writes are
/// idempotent and commute where [`Write`] says so. All of it may be lost at any moment and is rebuilt from the log.
#[async_trait]
pub trait HotState: Send + Sync {
    /// Takes the claim, the leases and a token, and reads every fact, in one round trip.
    ///
    /// Never fails: what the store cannot say is `Unknown`, `None` or `Unlimited` in the facts. A lease that the
    /// same holder has already for the same dispatch is renewed, not taken twice.
    async fn acquire(&self, request: AcquireRequest<'_>) -> Facts;

    /// Performs writes in one round trip and returns the endpoint's state after a [`Write::Report`], if there was one that
    /// found or left anything to know of it.
    ///
    /// # Errors
    /// A [`Fault`] when any write may not have happened; any subset of them may have.
    async fn apply(&self, writes: Vec<Write>) -> Result<Option<EndpointState>, Fault>;

    /// Changes an endpoint's circuit and cooldown if its version is still the transition's.
    ///
    /// # Errors
    /// A [`Fault`] when the change may not have happened.
    async fn change(&self, transition: &Transition) -> Result<Change, Fault>;
}
