//! The second decision: what an outcome means, and the change of an endpoint's state that may follow.
//!
//! `delivery`'s deliver use-case calls [`settle`] after the request, performs the effects, and asks [`follow_up`] with
//! the endpoint's state as the writes left it (DL-2, DL-3, RT-1, CB-1).

use std::time::Duration;

use crate::admit::SendPlan;
use crate::circuit::Circuit;
use crate::cooldown::{Cooldown, CooldownAnswer};
use crate::effect::{Effect, EndpointReport, EndpointState, Transition, Write};
use crate::facts::Situation;
use crate::health::Health;
use crate::outcome::{Outcome, Verdict};
use crate::record::{DeliveryResult, Record};
use crate::status::{Attempt, Phase, Status};
use crate::tally::{Tally, bucket_start};
use crate::time::Timestamp;

mod effects;

/// How long a webhook whose key is missing waits at least; at most twice that, so that many do not ask at once.
const KEY_PAUSE: Duration = Duration::from_mins(2);

/// A request that was made.
#[derive(Debug, Clone, Copy)]
pub struct Finished<'a> {
    /// What was decided on.
    pub situation: Situation<'a>,
    /// The leave that was given.
    pub plan: SendPlan,
    /// What the endpoint did.
    pub outcome: &'a Outcome,
    /// When it was over; it began at the situation's moment.
    pub ended_at: Timestamp,
}

/// What becomes of the webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// Done.
    Delivered,
    /// Another attempt at its time.
    Retried(Timestamp),
    /// Another attempt at once, in the slow lane: it outlasted the fast one.
    MovedToSlowLane,
    /// Given up.
    DeadLettered(crate::dead_letter::ReasonType),
    /// Another owner's to say: it settled the dispatch.
    Superseded,
}

/// What an outcome means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// What becomes of the webhook.
    pub disposition: Disposition,
    /// What to do, in order.
    pub effects: Vec<Effect>,
}

/// KeyedQueue an outcome into effects.
pub fn settle(finished: &Finished<'_>) -> Settled {
    let disposition = finished.disposition();
    Settled { disposition, effects: effects::of(finished, disposition) }
}

/// What is left of giving a webhook up when `known` says that another owner settled its dispatch, which it can once the claim
/// has ended: telling that the request was made, and nothing of what becomes of the webhook (CL-1). `None` when it was not.
pub fn superseded(finished: &Finished<'_>, known: &Status) -> Option<Settled> {
    let number = finished.situation.dispatch.number;
    // That it is dead may be what this owner said itself; and another one that says the same says all.
    let is_dead = known.phase == Phase::Dead && known.dispatch == number;
    let disposition = Disposition::Superseded;
    (known.settled() >= number && !is_dead)
        .then(|| Settled { disposition, effects: effects::of(finished, disposition) })
}

/// The change of the endpoint's state that is due after its writes left it as `state`; `None` when none is.
pub fn follow_up(finished: &Finished<'_>, state: &EndpointState) -> Option<Transition> {
    let policy = &finished.situation.policy.circuit;
    let health = finished.health();
    let circuit = if finished.is_probe_of(state.circuit) {
        policy.after_probe(state.circuit, health, finished.ended_at)
    } else {
        policy.after_count(state.circuit, &state.buckets, finished.ended_at)
    };
    let cooldown = state.cooldown.and_then(|cooldown| finished.cooldown_after(cooldown));
    let circuit = circuit.unwrap_or(state.circuit);
    (circuit != state.circuit || cooldown != state.cooldown).then(|| Transition {
        endpoint: finished.situation.dispatch.webhook.endpoint.clone(),
        version: state.version,
        circuit,
        cooldown,
    })
}

impl Finished<'_> {
    fn verdict(&self) -> Verdict {
        self.outcome.verdict(&self.situation.dispatch.webhook.retry_on_status)
    }

    /// How long the request took.
    pub fn took(&self) -> Duration {
        self.ended_at.since(self.situation.moment.now)
    }

    /// Whether the fast lane's short timeout cut the request off.
    fn was_cut_short(&self) -> bool {
        self.outcome.is_timeout() && self.plan.timeout < self.situation.policy.lanes.full_timeout()
    }

    /// What the outcome says about the endpoint; a caller's bad payload says nothing against it, and neither does a status
    /// that only this webhook wants to be retried, nor a request that was never made: the endpoint is everybody's (TN-1).
    fn health(&self) -> Health {
        match self.outcome.verdict(&[]) {
            _ if self.outcome.is_unsent() => Health::Neutral,
            Verdict::Delivered | Verdict::Gone | Verdict::Unrecoverable => Health::Good,
            Verdict::Retryable if self.outcome.retry_after().is_none() && !self.was_cut_short() => Health::Bad,
            Verdict::Retryable | Verdict::AddressRefused => Health::Neutral,
        }
    }

    /// The rest that this answer asks for, as a window.
    fn rest(&self) -> Option<Cooldown> {
        let asked = self.outcome.retry_after()?;
        Some(self.situation.policy.release.cooldown(asked, self.ended_at))
    }

    /// The cooldown that the endpoint asks of everybody.
    pub fn new_cooldown(&self) -> Option<Cooldown> {
        self.rest().filter(|_| self.outcome.verdict(&[]) == Verdict::Retryable)
    }

    /// Whether a half-open circuit waits for this very probe. One that outlasted its lease has been replaced (CB-1).
    fn is_probe_of(&self, circuit: Circuit) -> bool {
        let until = match circuit {
            Circuit::HalfOpen { probe_until, .. } => probe_until,
            Circuit::Closed { .. } | Circuit::Open { .. } => None,
        };
        self.plan.probes.circuit && until == Some(self.situation.lease_until())
    }

    /// The cooldown from now on: a successful probe opens it for everybody, a failed one makes room for the next, and one
    /// that has opened by itself is forgotten.
    fn cooldown_after(&self, cooldown: Cooldown) -> Option<Cooldown> {
        let ours = self.plan.probes.cooldown && cooldown.probe_until == Some(self.situation.lease_until());
        if cooldown.answer(self.ended_at) == CooldownAnswer::Over || (ours && self.health() == Health::Good) {
            return None;
        }
        Some(if ours { Cooldown { probe_until: None, ..cooldown } } else { cooldown })
    }

    fn disposition(&self) -> Disposition {
        use crate::dead_letter::ReasonType;
        match self.verdict() {
            Verdict::Delivered => Disposition::Delivered,
            Verdict::Gone => Disposition::DeadLettered(ReasonType::Gone),
            Verdict::Unrecoverable => Disposition::DeadLettered(ReasonType::Unrecoverable),
            Verdict::AddressRefused => Disposition::DeadLettered(ReasonType::AddressRefused),
            Verdict::Retryable if self.outcome.lacks_key() => Disposition::Retried(self.asked_for_its_key_at()),
            Verdict::Retryable if self.situation.dispatch.is_last_attempt() => {
                Disposition::DeadLettered(ReasonType::Exhausted)
            }
            Verdict::Retryable if self.was_cut_short() => Disposition::MovedToSlowLane,
            Verdict::Retryable => Disposition::Retried(self.retry_at()),
        }
    }

    /// A key that is missing is the deployment's own lack: it costs the webhook no attempt, and it is not given up for it.
    fn asked_for_its_key_at(&self) -> Timestamp {
        let soonest = self.ended_at.plus(KEY_PAUSE);
        self.situation.moment.entropy.moment(soonest, soonest.plus(KEY_PAUSE))
    }

    /// Backoff, but never before the endpoint's `Retry-After`, nor while its circuit will be open (RT-1).
    fn retry_at(&self) -> Timestamp {
        let Situation { dispatch, policy, moment, .. } = self.situation;
        let backoff = self.ended_at.plus(policy.retry.delay(dispatch.attempt, moment.entropy));
        let release = self.rest().map_or(backoff, |cooldown| {
            let cohort = policy.release.cohort_delay(&dispatch.webhook.config_id);
            cooldown.release_at(self.ended_at, moment.entropy).plus(cohort)
        });
        let reopens = self.plan.probes.circuit && self.health() == Health::Bad;
        let recovery = if reopens { self.ended_at.plus(policy.circuit.recovery_timeout()) } else { backoff };
        backoff.max(release).max(recovery)
    }

    /// What the store is told. A success of an endpoint without recent trouble is dropped there, not here: what was read
    /// before the request does not know what failed since.
    fn report(&self) -> EndpointReport {
        let Situation { dispatch, policy, .. } = self.situation;
        let window = policy.circuit.failure_window();
        let health = self.health();
        EndpointReport {
            endpoint: dispatch.webhook.endpoint.clone(),
            bucket: bucket_start(self.ended_at, window),
            keep_since: bucket_start(self.ended_at.minus(window), window),
            tally: Tally {
                failures: u32::from(health == Health::Bad),
                successes: u32::from(health == Health::Good),
                slow: u32::from(self.was_cut_short() || policy.lanes.is_slow(self.took())),
            },
            cooldown: self.new_cooldown(),
        }
    }

    fn attempt(&self) -> Attempt {
        let Situation { dispatch, moment, .. } = self.situation;
        Attempt {
            number: dispatch.attempt,
            dispatch: dispatch.number,
            cause: self.plan.cause,
            at: moment.now,
            took: self.took(),
            status: self.outcome.status(),
            error: self.outcome.error(),
        }
    }

    fn result(&self, status: &Status) -> Effect {
        let endpoint = &self.situation.dispatch.webhook.endpoint;
        Effect::Publish(Record::Result(DeliveryResult {
            endpoint: endpoint.hash().clone(),
            url: endpoint.shown().to_owned(),
            attempt: self.attempt(),
            status: status.clone(),
        }))
    }

    fn report_and_give_back(&self) -> [Effect; 2] {
        let leases = self.situation.facts.leases(self.situation.dispatch, None);
        [Effect::Write(Write::Report(self.report())), Effect::Write(Write::GiveBack(leases))]
    }
}

#[cfg(test)]
mod tests;
