//! Port `hot state` in memory: acquire and apply, put together from their parts.

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::hot_state::{AcquireRequest, Change, HotState};
use domain::{EndpointState, Facts, Transition, Write, lease_holder};

use crate::MemoryStore;

#[async_trait]
impl HotState for MemoryStore {
    async fn acquire(&self, request: AcquireRequest<'_>) -> Facts {
        let holder = lease_holder(request.dispatch, &request.claim.holder);
        let claim = self.webhooks.claim(&request.dispatch.webhook.id, &request.claim, request.now);
        let opened = self.endpoints.acquire(&request, &holder);
        Facts {
            memory: self.memory(),
            claim,
            endpoint: Some(opened.state),
            setting: opened.setting,
            on_endpoint: opened.lease,
            on_domain: self.endpoints.acquire_domain(&request, &holder),
            token: opened.token,
            holder,
        }
    }

    async fn apply(&self, writes: Vec<Write>) -> Result<Option<EndpointState>, Fault> {
        let mut state = None;
        for write in writes {
            state = self.write(write).or(state);
        }
        Ok(state)
    }

    async fn change(&self, transition: &Transition) -> Result<Change, Fault> {
        Ok(self.endpoints.change(transition))
    }
}
