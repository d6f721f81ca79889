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
        owner: &ClaimHolder,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<(Fence, Cursor)>, Fault> {
        let mut state = self.recovery.lock();
        match &state.holder {
            Some((holder, _)) if holder == owner => {}
            Some((_, held_until)) if now < *held_until => return Ok(None),
            // By the clock, so that a fence given before a loss is stale after it.
            Some(_) | None => state.fence = Fence((state.fence.0 + 1).max(now.as_ms())),
        }
        state.holder = Some((owner.clone(), until));
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
