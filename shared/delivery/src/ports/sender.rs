//! Port `sender`: makes one request to an endpoint.

use std::time::Duration;

use async_trait::async_trait;
pub use domain::Health;
use domain::{Dispatch, Endpoint, Outcome, Timestamp};
use thiserror::Error;

/// One request to make.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The webhook and the attempt being made.
    pub dispatch: &'a Dispatch,
    /// The time of the attempt, which is what gets signed.
    pub now: Timestamp,
    /// The total deadline, from the first DNS query to the last byte of the answer that is read.
    pub timeout: Duration,
}

/// The address policy refuses this endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct AddressRefused {
    /// The readable reason.
    pub reason: String,
}

/// Makes requests. What an endpoint does is an [`Outcome`], never an error.
///
/// Contract: one call makes at most one request that carries the body, follows no redirect, reads the answer within
/// bounds, ends by `timeout`, and dials only addresses that the policy allows.
#[async_trait]
pub trait Sender: Send + Sync {
    /// Makes the request and says what the endpoint did.
    async fn send(&self, request: Request<'_>) -> Outcome;

    /// Refuses an endpoint whose URL alone shows that the policy forbids it. Makes no DNS query.
    ///
    /// # Errors
    /// [`AddressRefused`] with the reason, for the caller's 422.
    fn vet(&self, endpoint: &Endpoint) -> Result<(), AddressRefused>;

    /// Asks a health URL (GET, 5 s) whether its endpoint can take work: [`Health::Good`] for 200 and a low load figure, or
    /// none; [`Health::Bad`] for any other answer, or none in time.
    async fn probe(&self, health_url: &Endpoint) -> Health;
}
