//! The second decision, after a request: what its outcome means, and the change of the endpoint's state that may follow.
//!
//! `delivery`'s deliver use-case calls [`settle`], performs the effects, and calls [`follow_up`] with the endpoint's state
//! after those effects (DL-2, DL-3, RT-1, CB-1).

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

/// How long a webhook waits at least whose vault key is missing. An operator has to add the key, so minutes do not matter;
/// the wait is drawn from here up to twice this, so that many such webhooks do not come back at once.
const KEY_PAUSE: Duration = Duration::from_mins(2);

/// A request that was made.
#[derive(Debug, Clone, Copy)]
pub struct Finished<'a> {
    /// The situation that was decided on.
    pub situation: Situation<'a>,
    /// How the request was made.
    pub plan: SendPlan,
    /// What the endpoint did.
    pub outcome: &'a Outcome,
    /// When the request was over. It began at the situation's moment.
    pub ended_at: Timestamp,
}

/// What becomes of the webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// It is delivered.
    Delivered,
    /// It waits for another attempt at this time.
    Retried(Timestamp),
    /// It is moved to the slow lane for another attempt at once: the fast lane's short timeout cut the request off.
    MovedToSlowLane,
    /// It failed for good.
    DeadLettered(crate::dead_letter::ReasonType),
    /// Another holder has settled the dispatch, and its outcome counts.
    Superseded,
}

/// What an outcome means for a webhook, and what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// What becomes of the webhook.
    pub disposition: Disposition,
    /// What to do, in order.
    pub effects: Vec<Effect>,
}

/// Decides what becomes of the webhook, and what to do.
pub fn settle(finished: &Finished<'_>) -> Settled {
    let disposition = finished.disposition();
    Settled { disposition, effects: effects::of(finished, disposition) }
}

/// The effects of an attempt that would dead-letter its webhook, when `known`, the stored status, shows that another holder
/// settled the dispatch after this one's claim had ended: the request is recorded, and nothing is said about the webhook
/// (CL-1). `None` when no other holder settled it.
pub fn superseded(finished: &Finished<'_>, known: &Status) -> Option<Settled> {
    let number = finished.situation.dispatch.number;
    // A stored death of this dispatch may be this holder's own, written before a fault. If it is another holder's, both
    // say the same.
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

    /// What the outcome says about the endpoint, whose state all its webhooks share (TN-1). A caller's bad payload says
    /// nothing against it, nor does a status that only this webhook wants retried, nor a request that was never made.
    fn health(&self) -> Health {
        match self.outcome.verdict(&[]) {
            _ if self.outcome.is_unsent() => Health::Neutral,
            Verdict::Delivered | Verdict::Gone | Verdict::Unrecoverable => Health::Good,
            Verdict::Retryable if self.outcome.retry_after().is_none() && !self.was_cut_short() => Health::Bad,
            Verdict::Retryable | Verdict::AddressRefused => Health::Neutral,
        }
    }

    /// The cooldown that this answer asks for.
    fn asked_cooldown(&self) -> Option<Cooldown> {
        let asked = self.outcome.retry_after()?;
        Some(self.situation.policy.release.cooldown(asked, self.ended_at))
    }

    /// The cooldown that this answer sets for all webhooks of the endpoint. A status that only this webhook wants retried
    /// sets none.
    pub fn new_cooldown(&self) -> Option<Cooldown> {
        self.asked_cooldown().filter(|_| self.outcome.verdict(&[]) == Verdict::Retryable)
    }

    /// Whether a half-open circuit waits for this very probe. A probe that outlasted its lease has been replaced (CB-1).
    fn is_probe_of(&self, circuit: Circuit) -> bool {
        let until = match circuit {
            Circuit::HalfOpen { probe_until, .. } => probe_until,
            Circuit::Closed { .. } | Circuit::Open { .. } => None,
        };
        self.plan.probes.circuit && until == Some(self.situation.lease_until())
    }

    /// The cooldown from now on: a successful probe ends it, a failed probe makes room for the next one, and a cooldown
    /// that is over is forgotten.
    fn cooldown_after(&self, cooldown: Cooldown) -> Option<Cooldown> {
        let is_its_probe = self.plan.probes.cooldown && cooldown.probe_until == Some(self.situation.lease_until());
        if cooldown.answer(self.ended_at) == CooldownAnswer::Over || (is_its_probe && self.health() == Health::Good) {
            return None;
        }
        Some(if is_its_probe { Cooldown { probe_until: None, ..cooldown } } else { cooldown })
    }

    fn disposition(&self) -> Disposition {
        use crate::dead_letter::ReasonType;
        match self.verdict() {
            Verdict::Delivered => Disposition::Delivered,
            Verdict::Gone => Disposition::DeadLettered(ReasonType::Gone),
            Verdict::Unrecoverable => Disposition::DeadLettered(ReasonType::Unrecoverable),
            Verdict::AddressRefused => Disposition::DeadLettered(ReasonType::AddressRefused),
            Verdict::Retryable if self.outcome.lacks_key() => Disposition::Retried(self.retry_with_key_at()),
            Verdict::Retryable if self.situation.dispatch.is_last_attempt() => {
                Disposition::DeadLettered(ReasonType::Exhausted)
            }
            Verdict::Retryable if self.was_cut_short() => Disposition::MovedToSlowLane,
            Verdict::Retryable => Disposition::Retried(self.retry_at()),
        }
    }

    /// When a webhook is tried again whose vault key is missing. The deployment lacks the key, not the webhook: it costs no
    /// attempt, and the webhook is not dead-lettered for it.
    fn retry_with_key_at(&self) -> Timestamp {
        let soonest = self.ended_at.plus(KEY_PAUSE);
        self.situation.moment.entropy.moment(soonest, soonest.plus(KEY_PAUSE))
    }

    /// Backoff, but never before the endpoint's `Retry-After`, nor while its circuit will be open (RT-1).
    fn retry_at(&self) -> Timestamp {
        let Situation { dispatch, policy, moment, .. } = self.situation;
        let backoff = self.ended_at.plus(policy.retry.delay(dispatch.attempt, moment.entropy));
        let release = self.asked_cooldown().map_or(backoff, |cooldown| {
            let cohort = policy.release.cohort_delay(&dispatch.webhook.config_id);
            cooldown.release_at(self.ended_at, moment.entropy).plus(cohort)
        });
        let reopens = self.plan.probes.circuit && self.health() == Health::Bad;
        let recovery = if reopens { self.ended_at.plus(policy.circuit.recovery_timeout()) } else { backoff };
        backoff.max(release).max(recovery)
    }

    /// What the store counts. It drops the success of an endpoint without recent failures; that cannot be decided here,
    /// because failures since *acquire* are not among the facts.
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
