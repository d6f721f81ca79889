//! Port `hot state` on Redis: acquire, apply, change.

use std::collections::BTreeSet;

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::hot_state::{AcquireRequest, Change, HotState};
use delivery::ports::recovery::Epoch;
use domain::{Circuit, ClaimFact, EndpointState, Facts, LeaseFact, Memory, Transition, Write, lease_holder};
use redis::Value;
use wire::hot;

use crate::scripts::CHANGE;
use crate::store::acquire::{self, Acquired};
use crate::store::batch::Batch;
use crate::store::command::Reply;
use crate::store::replies::{self, Fields};
use crate::store::{RedisStore, ms};

/// A fact that the store does not know is no error of *acquire*; its cause goes to the log.
fn or_unknown<T>(found: Result<T, Fault>, unknown: T) -> T {
    found.unwrap_or_else(|fault| {
        tracing::debug!(%fault, cause = ?std::error::Error::source(&fault), "Redis did not answer: a fact of an acquire is unknown");
        unknown
    })
}

#[async_trait]
impl HotState for RedisStore {
    async fn acquire(&self, request: AcquireRequest<'_>) -> Facts {
        let holder = lease_holder(request.dispatch, &request.claim.holder);
        let mut calls = vec![self.claim_call(&request), self.endpoint_call(&request, &holder)];
        calls.extend(self.domain_call(&request, &holder));
        self.link.round_trip();
        let (epoch, replies) = futures::join!(self.read_epoch(), self.link.call_all(calls));
        let mut replies = replies.into_iter();
        let mut next = || replies.next().unwrap_or(Ok(Value::Nil));
        let (claim, endpoint) = (acquire::claimed(next()), acquire::acquired(next()));
        let on_domain = acquire::domain_lease(replies.next());
        let endpoint = or_unknown(endpoint, Acquired::UNKNOWN);
        let memory = |epoch: Option<Epoch>| epoch.as_ref().map_or(Memory::Lost, Epoch::memory);
        Facts {
            memory: or_unknown(epoch.map(memory), Memory::Unknown),
            claim: or_unknown(claim, ClaimFact::Unknown),
            endpoint: endpoint.state,
            setting: endpoint.setting,
            on_endpoint: endpoint.lease,
            on_domain: or_unknown(on_domain, LeaseFact::Unlimited),
            token: endpoint.token,
            holder,
        }
    }

    async fn apply(&self, writes: Vec<Write>) -> Result<Option<EndpointState>, Fault> {
        let mut batch = Batch::new(self);
        for write in writes {
            batch.add(write);
        }
        let commands = batch.into_commands()?;
        if commands.is_empty() {
            return Ok(None);
        }
        self.link.round_trip();
        let replies = self.run(commands).await;
        let (mut state, mut changed) = (None, BTreeSet::new());
        for reply in replies {
            let Reply { state: found, changed: hash } = reply?;
            state = found.or(state);
            changed.extend(hash);
        }
        self.list_as_they_are(changed).await;
        Ok(state)
    }

    async fn change(&self, transition: &Transition) -> Result<Change, Fault> {
        let hash = transition.endpoint.hash();
        let keys = self.keys.endpoint(hash);
        let call = CHANGE
            .on(&[&keys.state, &keys.settings])
            .arg(transition.version)
            .arg(hot::circuit::encode(transition.circuit))
            .arg(transition.cooldown.map(hot::cooldown::encode).unwrap_or_default())
            .arg(transition.endpoint.url())
            .arg(ms(self.retention.endpoint));
        let listed = async {
            let normal = matches!(transition.circuit, Circuit::Closed { .. }) && transition.cooldown.is_none();
            if normal { Ok(()) } else { self.list([hash]).await }
        };
        self.link.round_trip();
        let (reply, listed) = futures::join!(self.link.call(call), listed);
        let (made, changed, fields): (u8, u8, Fields) = reply?;
        listed?;
        if changed == 1 {
            self.list_as_they_are(BTreeSet::from([hash.clone()])).await;
        }
        let state = replies::endpoint(&fields);
        Ok(if made == 1 { Change::Made(state) } else { Change::Lost(state) })
    }
}
