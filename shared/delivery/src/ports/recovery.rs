//! Port `recovery`: whether the hot state is rebuilt, and the lock and the cursor of the run that rebuilds it.

use async_trait::async_trait;
use domain::{ClaimHolder, Fence, Timestamp};

use crate::fault::Fault;

pub use domain::{Epoch, RebuildCursor as Cursor, RebuildScope as Scope};

/// The rebuild's lock and cursor, and the epoch.
///
/// Contract: one live holder at a time; a stale fence moves nothing.
#[async_trait]
pub trait Recovery: Send + Sync {
    /// The epoch; `None` when the hot state was lost.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn epoch(&self) -> Result<Option<Epoch>, Fault>;

    /// Takes or renews the lock until `until`, which gives it back when that is `now`; `None` when another
    /// run holds it.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn lock(
        &self,
        holder: &ClaimHolder,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<(Fence, Cursor)>, Fault>;

    /// Records how far the rebuild has come; `false` when the fence is stale.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn advance(&self, fence: Fence, cursor: &Cursor) -> Result<bool, Fault>;

    /// Sets the epoch; `false` when the fence is stale.
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn complete(&self, fence: Fence, epoch: &Epoch) -> Result<bool, Fault>;

    /// A fingerprint of everything that waits, the same for the same webhooks at the same times in any order (RB-1).
    ///
    /// # Errors
    /// A [`Fault`] when the store does not answer.
    async fn fingerprint(&self) -> Result<u64, Fault>;
}
