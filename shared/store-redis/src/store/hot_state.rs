//! Port `hot state` on Redis: open, close, change.

use std::collections::BTreeSet;

use async_trait::async_trait;
use delivery::Fault;
use delivery::ports::hot_state::{AcquireRequest, Change, HotState};
use delivery::ports::recovery::Epoch;
use domain::{Circuit, ClaimFact, EndpointState, Facts, LeaseFact, Memory, Transition, Write, lease_holder};
use redis::Value;
use wire::hot;

use crate::scripts::CHANGE;
use crate::store::acquire::{Acquired, claimed, on_domain, opened};
use crate::store::batch::Batch;
use crate::store::command::Reply;
use crate::store::replies::{self, Fields};
use crate::store::{RedisStore, ms};

/// What the store cannot say is no error of an *open*, but whoever looks for the cause finds it in the log.
fn or_unknown<T>(found: Result<T, Fault>, unknown: T) -> T {
    found.unwrap_or_else(|fault| {
        tracing::debug!(%fault, cause = ?std::error::Error::source(&fault), "a fact is unknown");
        unknown
    })
}

#[async_trait]
impl HotState for RedisStore {
    async fn acquire(&self, request: AcquireRequest<'_>) -> Facts {
        let holder = lease_holder(request.dispatch, &request.claim.holder);
        let mut calls = vec![self.claim(&request), self.acquire_endpoint(&request, &holder)];
        calls.extend(self.open_domain(&request, &holder));
        self.link.trip();
        let (epoch, replies) = futures::join!(self.read_epoch(), self.link.call_all(calls));
        let mut replies = replies.into_iter();
        let mut next = || replies.next().unwrap_or(Ok(Value::Nil));
        let (claim, found) = (claimed(next()), opened(next()));
        let on_domain = on_domain(replies.next());
        let opened = or_unknown(found, Acquired::UNKNOWN);
        let memory = |epoch: Option<Epoch>| epoch.as_ref().map_or(Memory::Lost, Epoch::memory);
        Facts {
            memory: or_unknown(epoch.map(memory), Memory::Unknown),
            claim: or_unknown(claim, ClaimFact::Unknown),
            endpoint: opened.state,
            setting: opened.setting,
            on_endpoint: opened.lease,
            on_domain: or_unknown(on_domain, LeaseFact::Unlimited),
            token: opened.token,
            holder,
        }
    }

    async fn apply(&self, writes: Vec<Write>) -> Result<Option<EndpointState>, Fault> {
        let mut batch = Batch::default();
        for write in writes {
            batch.add(write);
        }
        let commands = self.commands(batch)?;
        if commands.is_empty() {
            return Ok(None);
        }
        self.link.trip();
        let told = self.run(commands).await;
        let (mut state, mut changed) = (None, BTreeSet::new());
        for told in told {
            let Reply { state: found, changed: hash } = told?;
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
            if normal { Ok(()) } else { self.list(std::slice::from_ref(hash)).await }
        };
        self.link.trip();
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
