//! The effects of the decisions that make no request, in order: durable first, hot state second, forgetting last.

use crate::admit::{Admission, Redeliver};
use crate::claim::{ClaimFact, Duplicate};
use crate::cooldown::Cooldown;
use crate::effect::{Effect, Settlement, Write};
use crate::facts::Situation;
use crate::lane::Lane;
use crate::record::{Record, WaitReason, Waiting};
use crate::status::{Next, Phase, Status};
use crate::time::Timestamp;
use crate::webhook::Dispatch;

/// What a decision wants done. `Send` and `Probe` want nothing yet: `settle` follows the request.
pub fn admit_effects(situation: &Situation<'_>, admission: &Admission) -> Vec<Effect> {
    match admission {
        Admission::Send(_) | Admission::Probe(..) => Vec::new(),
        Admission::Divert(_) => divert(situation),
        Admission::Defer(until, WaitReason::Claimed) => defer_behind_claim(situation, *until),
        Admission::Defer(until, reason) => defer(situation, *until, *reason),
        Admission::Hold(reason) => hold(situation, *reason),
        Admission::Drop(duplicate) => drop_duplicate(situation, *duplicate),
        Admission::Redeliver(Redeliver::StoreFailed | Redeliver::NoTime) => give_back(situation),
    }
}

/// What to give back when a fault came before anything that `admission` wants was done.
pub fn compensate(situation: &Situation<'_>, admission: &Admission) -> Vec<Effect> {
    match admission {
        // The slow lane may have it all the same. Whoever repeats this record must be told, so the claim runs out instead.
        Admission::Divert(_) => vec![release(situation)],
        // It has no claim, and its leases may be what was given back.
        Admission::Drop(_) => Vec::new(),
        Admission::Send(_)
        | Admission::Probe(..)
        | Admission::Defer(..)
        | Admission::Hold(_)
        | Admission::Redeliver(_) => give_back(situation),
    }
}

fn divert(situation: &Situation<'_>) -> Vec<Effect> {
    let dispatch = handed_on(situation, situation.moment.now);
    let status =
        Status { dispatch: dispatch.number, phase: Phase::Pending, ..status_before(situation, dispatch.number) };
    let mut effects = vec![Effect::Publish(Record::Dispatch(Lane::Slow, dispatch))];
    effects.extend(settle_unsent(situation, status));
    effects
}

fn defer(situation: &Situation<'_>, until: Timestamp, reason: WaitReason) -> Vec<Effect> {
    let waiting = waiting(situation, handed_on(situation, until), reason);
    let status = waiting_status(situation, &waiting, Phase::Waiting);
    let mut effects =
        vec![Effect::Publish(Record::Waiting(waiting.clone())), Effect::Write(Write::Schedule(waiting))];
    effects.extend(settle_unsent(situation, status));
    effects
}

/// The dispatch is not ours to settle: the same one comes back when the claim has ended, as a duplicate or to take over.
fn defer_behind_claim(situation: &Situation<'_>, until: Timestamp) -> Vec<Effect> {
    let dispatch = Dispatch { scheduled_at: until, ..situation.dispatch.clone() };
    let waiting = waiting(situation, dispatch, WaitReason::Claimed);
    vec![
        Effect::Publish(Record::Waiting(waiting.clone())),
        Effect::Write(Write::Schedule(waiting)),
        release(situation),
    ]
}

fn hold(situation: &Situation<'_>, reason: WaitReason) -> Vec<Effect> {
    let waiting = waiting(situation, handed_on(situation, situation.moment.now), reason);
    let status = waiting_status(situation, &waiting, Phase::Held);
    let mut effects = vec![Effect::Publish(Record::Waiting(waiting.clone())), Effect::Write(Write::Hold(waiting))];
    effects.extend(settle_unsent(situation, status));
    effects
}

fn drop_duplicate(situation: &Situation<'_>, duplicate: Duplicate) -> Vec<Effect> {
    let dispatch = situation.dispatch;
    let mut effects = vec![release(situation)];
    if let Some(Next { due, attempt }) = duplicate.next {
        // The former owner may have died between settling and scheduling: scheduling again changes nothing otherwise.
        // Whether it had taken the attempt over died with it.
        let taken_over = attempt == dispatch.attempt;
        let following = Dispatch { attempt, waited: true, taken_over, ..dispatch.again(due) };
        effects.push(Effect::Write(Write::Schedule(waiting(situation, following, WaitReason::Retry))));
    }
    if duplicate.terminal && dispatch.waited {
        // It may have died before forgetting, too.
        effects.push(Effect::Publish(Record::Tombstone(dispatch.webhook.id.clone(), dispatch.number)));
    }
    effects
}

fn give_back(situation: &Situation<'_>) -> Vec<Effect> {
    let mut effects = vec![release(situation)];
    // One that was taken over runs out instead: whoever is next must be told that it was.
    if let ClaimFact::Taken { fence, takeover: false } = situation.facts.claim {
        effects.push(Effect::Write(Write::Unclaim(situation.dispatch.webhook.id.clone(), fence)));
    }
    effects
}

/// The next hand-over of the same attempt. It is claimed afresh, so what this claim tells of earlier owners goes with it.
fn handed_on(situation: &Situation<'_>, at: Timestamp) -> Dispatch {
    Dispatch { taken_over: situation.is_taken_over(), ..situation.dispatch.again(at) }
}

fn settle_unsent(situation: &Situation<'_>, status: Status) -> [Effect; 2] {
    let fence = match situation.facts.claim {
        ClaimFact::Taken { fence, .. } => Some(fence),
        ClaimFact::Settled(_) | ClaimFact::Held { .. } | ClaimFact::Unknown => None,
    };
    [Effect::Write(Write::Settle(Settlement { fence, status, attempt: None })), release(situation)]
}

fn release(situation: &Situation<'_>) -> Effect {
    Effect::Write(Write::GiveBack(situation.facts.leases(situation.dispatch, unused_token(situation))))
}

fn unused_token(situation: &Situation<'_>) -> Option<crate::lane::Pace> {
    (situation.moment.lane == Lane::Slow).then(|| situation.policy.lanes.pace())
}

fn waiting(situation: &Situation<'_>, dispatch: Dispatch, reason: WaitReason) -> Waiting {
    let lane = match reason {
        WaitReason::Pace | WaitReason::Busy => Lane::Slow,
        WaitReason::Claimed | WaitReason::NoTime => situation.moment.lane,
        WaitReason::Retry
        | WaitReason::Cooldown
        | WaitReason::Circuit
        | WaitReason::Paused
        | WaitReason::Disabled => Lane::Fast,
    };
    let cooldown = situation.facts.endpoint.as_ref().and_then(|endpoint| endpoint.cooldown).map(Cooldown::settled);
    Waiting { lane, due: dispatch.scheduled_at, dispatch: Dispatch { waited: true, ..dispatch }, reason, cooldown }
}

fn waiting_status(situation: &Situation<'_>, waiting: &Waiting, phase: Phase) -> Status {
    let next = Some(Next { due: waiting.due, attempt: waiting.dispatch.attempt });
    let waiting_for = Some(waiting.reason);
    Status { phase, next, waiting_for, ..status_before(situation, situation.dispatch.number) }
}

fn status_before(situation: &Situation<'_>, dispatch: u64) -> Status {
    let webhook = &situation.dispatch.webhook;
    let status = Status::pending(webhook.id.clone(), webhook.config_id.clone(), dispatch, situation.moment.now);
    let (life, attempts) = (situation.dispatch.replayed_from, situation.dispatch.attempt.saturating_sub(1));
    Status { life, attempts, ..status }.after(situation.dispatch)
}
