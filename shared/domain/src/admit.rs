//! The first decision: whether a request is made now (CL-1, CB-1, LN-1, RT-1).
//!
//! `delivery`'s deliver use-case calls it with the facts of one round trip. The order of the questions is the order of
//! this file. It makes no request and writes nothing.

use std::time::Duration;

use crate::circuit::{Circuit, CircuitAnswer};
use crate::claim::{ClaimFact, Duplicate, Fence};
use crate::cooldown::{Cooldown, CooldownAnswer};
use crate::effect::{EndpointState, Transition};
use crate::facts::{LeaseFact, Memory, Situation};
use crate::lane::{Lane, Token};
use crate::policy::OnStoreFailure;
use crate::record::WaitReason;
use crate::setting::EndpointSetting;
use crate::status::Cause;
use crate::time::Timestamp;
use crate::webhook::Dispatch;

mod effects;
pub use effects::{admit_effects, compensate};

/// Which probes a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Probes {
    /// The half-open circuit's.
    pub circuit: bool,
    /// The cooldown's.
    pub cooldown: bool,
}

/// Leave to make one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendPlan {
    /// The request's total deadline.
    pub timeout: Duration,
    /// The fence to settle with; `None` when the store could not say.
    pub fence: Option<Fence>,
    /// Why the request is made.
    pub cause: Cause,
    /// Which probes it is.
    pub probes: Probes,
}

/// Why a record is handed back untouched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redeliver {
    /// The store cannot say whether the circuit is open, or was lost and is not rebuilt.
    StoreFailed,
    /// The invocation ends too soon.
    NoTime,
}

/// What to do with a dispatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// Make the request.
    Send(SendPlan),
    /// Make the request as a probe, once this change of state is stored; if another one was faster, decide again.
    Probe(Transition, SendPlan),
    /// Hand it to the slow lane.
    Divert(WaitReason),
    /// Wait.
    Defer(Timestamp, WaitReason),
    /// Keep it for its owner.
    Hold(WaitReason),
    /// It was settled before: do nothing twice.
    Drop(Duplicate),
    /// Leave it to be delivered again.
    Redeliver(Redeliver),
}

/// Decides what to do with a dispatch.
pub fn admit(situation: &Situation<'_>) -> Admission {
    let Situation { dispatch, facts, policy, moment } = situation;
    if facts.memory == Memory::Lost {
        // Circuits, cooldowns and what was settled are forgotten, not gone.
        return Admission::Redeliver(Redeliver::StoreFailed);
    }
    let fence = match facts.claim {
        ClaimFact::Settled(duplicate) => return Admission::Drop(duplicate),
        ClaimFact::Held { until } => return Admission::Defer(until, WaitReason::Claimed),
        ClaimFact::Taken { fence, .. } => Some(fence),
        ClaimFact::Unknown => None,
    };
    match facts.setting {
        EndpointSetting::Paused => return Admission::Hold(WaitReason::Paused),
        EndpointSetting::Disabled | EndpointSetting::Gone => return Admission::Hold(WaitReason::Disabled),
        EndpointSetting::Active => {}
    }
    let unknown = EndpointState::default();
    let endpoint = match (&facts.endpoint, policy.on_store_failure) {
        (Some(endpoint), _) => endpoint,
        (None, OnStoreFailure::Open) => &unknown,
        (None, OnStoreFailure::Closed) => return Admission::Redeliver(Redeliver::StoreFailed),
    };
    let probing = match probing(situation, endpoint) {
        Ok(probing) => probing,
        Err((until, reason)) => return Admission::Defer(until, reason),
    };
    if let Some(refusal) = at_capacity(situation, endpoint) {
        return refusal;
    }
    if moment.remaining.is_some_and(|remaining| remaining < policy.lanes.needs(moment.lane, dispatch)) {
        return Admission::Redeliver(Redeliver::NoTime);
    }
    let plan = SendPlan { timeout: situation.timeout(), fence, cause: cause(situation), probes: probing.probes };
    match probing.change(dispatch, endpoint) {
        Some(transition) => Admission::Probe(transition, plan),
        None => Admission::Send(plan),
    }
}

/// The state that a request would leave cooldown and circuit in, and which probes it would be.
struct Probing {
    circuit: Circuit,
    cooldown: Option<Cooldown>,
    probes: Probes,
}

impl Probing {
    fn change(self, dispatch: &Dispatch, endpoint: &EndpointState) -> Option<Transition> {
        (self.probes != Probes::default()).then(|| Transition {
            endpoint: dispatch.webhook.endpoint.clone(),
            version: endpoint.version,
            circuit: self.circuit,
            cooldown: self.cooldown,
        })
    }
}

fn probing(situation: &Situation<'_>, endpoint: &EndpointState) -> Result<Probing, (Timestamp, WaitReason)> {
    let Situation { dispatch, policy, moment, .. } = situation;
    let now = moment.now;
    let probe_until = situation.lease_until();
    let mut probing = Probing { circuit: endpoint.circuit, cooldown: endpoint.cooldown, probes: Probes::default() };
    if let Some(cooldown) = &endpoint.cooldown {
        match cooldown.answer(now) {
            CooldownAnswer::Over => {}
            CooldownAnswer::Holding | CooldownAnswer::Probing => {
                let at = cooldown
                    .release_at(now, moment.entropy)
                    .plus(policy.release.cohort_delay(&dispatch.webhook.config_id));
                return Err((at, WaitReason::Cooldown));
            }
            CooldownAnswer::Probe => {
                probing.cooldown = Some(Cooldown { probe_until: Some(probe_until), ..*cooldown });
                probing.probes.cooldown = true;
            }
        }
    }
    match policy.circuit.answer(endpoint.circuit, now, probe_until) {
        CircuitAnswer::Pass => {}
        CircuitAnswer::Probe(circuit) => {
            probing.circuit = circuit;
            probing.probes.circuit = true;
        }
        CircuitAnswer::Wait(until) => {
            // Spread, so that what waits for a circuit does not come back in lockstep (P3).
            let latest = until.plus(policy.circuit.recovery_timeout() / 5);
            return Err((moment.entropy.moment(until, latest), WaitReason::Circuit));
        }
    }
    Ok(probing)
}

fn at_capacity(situation: &Situation<'_>, endpoint: &EndpointState) -> Option<Admission> {
    let Situation { facts, policy, moment, .. } = situation;
    let full = facts.on_domain == LeaseFact::Full || facts.on_endpoint == LeaseFact::Full;
    match (moment.lane, facts.token) {
        (Lane::Fast, _) if full => Some(Admission::Divert(WaitReason::Busy)),
        (Lane::Fast, _) => {
            let window = policy.circuit.failure_window();
            let slow = policy.lanes.is_known_slow(&endpoint.buckets, window, moment.now);
            slow.then_some(Admission::Divert(WaitReason::Pace))
        }
        (Lane::Slow, Token::Wait(turn)) => Some(Admission::Defer(turn, WaitReason::Pace)),
        (Lane::Slow, Token::Taken | Token::Free) if full => {
            // The lane is full of requests that may last as long as their timeout: asking sooner would only cost records.
            let soonest = moment.now.plus(policy.lanes.pace().interval);
            let until = moment.entropy.moment(soonest, soonest.plus(policy.lanes.full_timeout()));
            Some(Admission::Defer(until, WaitReason::Busy))
        }
        (Lane::Slow, Token::Taken | Token::Free) => None,
    }
}

fn cause(situation: &Situation<'_>) -> Cause {
    let dispatch = situation.dispatch;
    match situation.facts.claim {
        ClaimFact::Taken { .. } if situation.is_taken_over() => Cause::Takeover,
        ClaimFact::Taken { .. } if situation.is_doubtful() => Cause::Unclaimed,
        ClaimFact::Taken { .. } if dispatch.attempt > 1 => Cause::Retry,
        ClaimFact::Taken { .. } if dispatch.replayed_from > 0 => Cause::Replay,
        ClaimFact::Taken { .. } => Cause::First,
        ClaimFact::Settled(_) | ClaimFact::Held { .. } | ClaimFact::Unknown => Cause::Unclaimed,
    }
}

#[cfg(test)]
mod tests;
