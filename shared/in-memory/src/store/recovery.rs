//! Port `recovery` in memory: the epoch, the lock and the cursor.

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::recovery::{Cursor, Epoch, Recovery};
use domain::{ClaimHolder, Fence, Memory, Timestamp};

use crate::MemoryStore;

#[derive(Debug, Default)]
pub(super) struct RecoveryState {
    epoch: Option<Epoch>,
    holder: Option<(ClaimHolder, Timestamp)>,
    fence: Fence,
    cursor: Cursor,
}

impl MemoryStore {
    pub(super) fn memory(&self) -> Memory {
        self.recovery.lock().epoch.as_ref().map_or(Memory::Lost, Epoch::memory)
    }
}

#[async_trait]
impl Recovery for MemoryStore {
    async fn epoch(&self) -> Result<Option<Epoch>, Fault> {
        Ok(self.recovery.lock().epoch.clone())
    }

    async fn lock(
        &self,
        holder: &ClaimHolder,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<(Fence, Cursor)>, Fault> {
        let mut state = self.recovery.lock();
        match &state.holder {
            Some((known, _)) if known == holder => {}
            Some((_, held_until)) if now < *held_until => return Ok(None),
            // At least the time in milliseconds: after a loss, fences that were given before it are stale.
            Some(_) | None => state.fence = Fence((state.fence.0 + 1).max(now.as_ms())),
        }
        state.holder = Some((holder.clone(), until));
        Ok(Some((state.fence, state.cursor.clone())))
    }

    async fn advance(&self, fence: Fence, cursor: &Cursor) -> Result<bool, Fault> {
        let mut state = self.recovery.lock();
        let valid = state.fence == fence;
        if valid {
            state.cursor = cursor.clone();
        }
        Ok(valid)
    }

    async fn complete(&self, fence: Fence, epoch: &Epoch) -> Result<bool, Fault> {
        let mut state = self.recovery.lock();
        let valid = state.fence == fence;
        if valid {
            state.epoch = Some(epoch.clone());
        }
        Ok(valid)
    }

    async fn fingerprint(&self) -> Result<u64, Fault> {
        Ok(self.due.lock().fingerprint().wrapping_add(self.endpoints.fingerprint()))
    }
}
