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

/// The effects of a decision. `Send` and `Probe` have none yet: `settle` follows their request.
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

/// The effects that undo *acquire* when a fault came before the first effect of `admission`.
pub fn compensate(situation: &Situation<'_>, admission: &Admission) -> Vec<Effect> {
    match admission {
        // The log may have stored the dispatch for the slow lane although it reported a fault. The claim is left to run out:
        // this record, when it comes again, is deferred behind it, and counts as a takeover then.
        Admission::Divert(_) => vec![give_leases_back(situation)],
        // A duplicate took no claim, and giving its leases back is what failed.
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

/// Another holder has the claim, so this holder settles nothing. The same dispatch comes back when the claim has ended:
/// as a duplicate if the holder settled it, to be taken over if the holder did not.
fn defer_behind_claim(situation: &Situation<'_>, until: Timestamp) -> Vec<Effect> {
    let dispatch = Dispatch { scheduled_at: until, ..situation.dispatch.clone() };
    let waiting = waiting(situation, dispatch, WaitReason::Claimed);
    vec![
        Effect::Publish(Record::Waiting(waiting.clone())),
        Effect::Write(Write::Schedule(waiting)),
        give_leases_back(situation),
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
    let mut effects = vec![give_leases_back(situation)];
    if let Some(Next { due, attempt }) = duplicate.next {
        // The holder that settled it may have died before the due entry was written; if the entry is there, writing it
        // again changes nothing. Whether that holder had taken the attempt over is not known, so a takeover is assumed.
        let taken_over = attempt == dispatch.attempt;
        let following = Dispatch { attempt, waited: true, taken_over, ..dispatch.again(due) };
        effects.push(Effect::Write(Write::Schedule(waiting(situation, following, WaitReason::Retry))));
    }
    if duplicate.terminal && dispatch.waited {
        // The holder may also have died before the tombstone.
        effects.push(Effect::Publish(Record::Tombstone(dispatch.webhook.id.clone(), dispatch.number)));
    }
    effects
}

fn give_back(situation: &Situation<'_>) -> Vec<Effect> {
    let mut effects = vec![give_leases_back(situation)];
    // A claim that was taken over is left to run out: the next holder must learn that the attempt was taken over.
    if let ClaimFact::Taken { fence, takeover: false } = situation.facts.claim {
        effects.push(Effect::Write(Write::Unclaim(situation.dispatch.webhook.id.clone(), fence)));
    }
    effects
}

/// The next dispatch of the same attempt. It gets a claim of its own, so it carries along whether this claim was a takeover.
fn handed_on(situation: &Situation<'_>, at: Timestamp) -> Dispatch {
    Dispatch { taken_over: situation.is_taken_over(), ..situation.dispatch.again(at) }
}

fn settle_unsent(situation: &Situation<'_>, status: Status) -> [Effect; 2] {
    let fence = match situation.facts.claim {
        ClaimFact::Taken { fence, .. } => Some(fence),
        ClaimFact::Settled(_) | ClaimFact::Held { .. } | ClaimFact::Unknown => None,
    };
    [Effect::Write(Write::Settle(Settlement { fence, status, attempt: None })), give_leases_back(situation)]
}

fn give_leases_back(situation: &Situation<'_>) -> Effect {
    Effect::Write(Write::GiveBack(situation.facts.leases(situation.dispatch, unused_token(situation))))
}

fn unused_token(situation: &Situation<'_>) -> Option<crate::lane::Pace> {
    (situation.moment.lane == Lane::Slow).then(|| situation.policy.lanes.pace())
}

fn waiting(situation: &Situation<'_>, dispatch: Dispatch, reason: WaitReason) -> Waiting {
    let lane = match reason {
        WaitReason::Pace | WaitReason::Busy => Lane::Slow,
        WaitReason::Claimed => situation.moment.lane,
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
    let (replayed_from, attempts) = (situation.dispatch.replayed_from, situation.dispatch.attempt.saturating_sub(1));
    Status { replayed_from, attempts, ..status }.after(situation.dispatch)
}
