//! The first decision, before a request: whether it is made now (CL-1, CB-1, LN-1, RT-1).
//!
//! `delivery`'s deliver use-case calls [`admit`] with the facts of one round trip. The questions are asked in the order of
//! the function: claim, setting, cooldown, circuit, capacity, time. It makes no request and writes nothing.

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

/// Which probes a request serves as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Probes {
    /// The half-open circuit's probe.
    pub circuit: bool,
    /// The cooldown's probe.
    pub cooldown: bool,
}

/// How one request is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendPlan {
    /// The request's total deadline.
    pub timeout: Duration,
    /// The fence to settle with; `None` when the store could not say whether the claim was free.
    pub fence: Option<Fence>,
    /// Why the request is made.
    pub cause: Cause,
    /// Which probes it is.
    pub probes: Probes,
}

/// Why a record is redelivered: it is not acknowledged, so that it comes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redeliver {
    /// The store cannot say whether the circuit is open, or it was lost and is not rebuilt yet.
    StoreFailed,
    /// The invocation ends before the request and its settlement could.
    NoTime,
}

/// What to do with a dispatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// Make the request.
    Send(SendPlan),
    /// Make the request as a probe, once this change of state is stored. If another change was faster, decide again.
    Probe(Transition, SendPlan),
    /// Hand it to the slow lane.
    Divert(WaitReason),
    /// Wait in the due set until this time.
    Defer(Timestamp, WaitReason),
    /// Hold it until its owner resumes or enables the endpoint.
    Hold(WaitReason),
    /// The dispatch was settled before: its record is a duplicate.
    Drop(Duplicate),
    /// Do not acknowledge the record.
    Redeliver(Redeliver),
}

/// Decides what to do with a dispatch.
pub fn admit(situation: &Situation<'_>) -> Admission {
    let Situation { dispatch, facts, policy, moment } = situation;
    if facts.memory == Memory::Lost {
        // That the store knows no circuit, cooldown or settlement does not mean that there is none.
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

/// The cooldown and the circuit as the request would leave them, and the probes that it would serve as.
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
            // Spread over a fifth of the recovery time, so that what waits for a circuit does not come back at once (P3).
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
            // The requests in the way may last as long as their timeout. To come back sooner on average would cost a record
            // for each return and change nothing.
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
