//! The effects of an outcome, in order: durable first, hot state second, forgetting last.

use crate::cooldown::Cooldown;
use crate::dead_letter::{DeadLetter, DeadLetterEntry, Position, ReasonType};
use crate::decide::decide;
use crate::effect::{Effect, Settlement, Write};
use crate::lane::Lane;
use crate::outcome::Outcome;
use crate::policy::ResponseBody;
use crate::record::{Record, WaitReason, Waiting};
use crate::setting::{EndpointSetting, SettingDecision};
use crate::settle::{Disposition, Finished};
use crate::status::{Next, Phase, Status};
use crate::time::Timestamp;
use crate::webhook::{Dispatch, LastFailure};

pub(super) fn of(finished: &Finished<'_>, disposition: Disposition) -> Vec<Effect> {
    match disposition {
        Disposition::Delivered => delivered(finished),
        Disposition::Retried(at) => retried(finished, at),
        Disposition::MovedToSlowLane => moved(finished),
        Disposition::DeadLettered(reason) => dead_lettered(finished, reason),
        Disposition::Superseded => superseded(finished),
    }
}

fn delivered(finished: &Finished<'_>) -> Vec<Effect> {
    let status = finished.status(Phase::Delivered);
    let mut effects = vec![finished.result(&status), settled(finished, status)];
    effects.extend(finished.report_and_give_back());
    effects.extend(tombstone(finished));
    effects
}

fn retried(finished: &Finished<'_>, at: Timestamp) -> Vec<Effect> {
    let dispatch = finished.situation.dispatch;
    let again = if finished.outcome.lacks_key() {
        dispatch.same_attempt(at, finished.failure())
    } else {
        dispatch.next_attempt(at, finished.failure())
    };
    let known_cooldown = finished.situation.facts.endpoint.as_ref().and_then(|endpoint| endpoint.cooldown);
    let waiting = Waiting {
        dispatch: Dispatch { waited: true, ..again },
        lane: Lane::Fast,
        due: at,
        reason: WaitReason::Retry,
        cooldown: finished.new_cooldown().or(known_cooldown).map(Cooldown::settled),
    };
    let next = Some(Next { due: at, attempt: waiting.dispatch.attempt });
    let waiting_for = Some(waiting.reason);
    let status = Status { next, waiting_for, ..finished.status(Phase::Waiting) };
    let mut effects = vec![
        finished.result(&status),
        Effect::Publish(Record::Waiting(waiting.clone())),
        Effect::Write(Write::Schedule(waiting)),
        settled(finished, status),
    ];
    effects.extend(finished.report_and_give_back());
    effects
}

fn moved(finished: &Finished<'_>) -> Vec<Effect> {
    let dispatch = finished.situation.dispatch.next_attempt(finished.ended_at, finished.failure());
    let status = Status { dispatch: dispatch.number, ..finished.status(Phase::Pending) };
    // Of records that are published together any may survive a crash alone. A result that survives without the next
    // dispatch must not call this one settled: nothing would follow it.
    let unsettled = finished.status(Phase::Delivering);
    let mut effects = vec![
        Effect::Publish(Record::Dispatch(Lane::Slow, dispatch)),
        finished.result(&unsettled),
        settled(finished, status),
    ];
    effects.extend(finished.report_and_give_back());
    effects
}

fn dead_lettered(finished: &Finished<'_>, reason_type: ReasonType) -> Vec<Effect> {
    let dispatch = finished.situation.dispatch;
    let webhook = &dispatch.webhook;
    let dead_letter = dead_letter(finished, reason_type);
    let status = Status { reason_type: Some(reason_type), ..finished.status(Phase::Dead) };
    let entry = DeadLetterEntry {
        id: webhook.id.clone(),
        config_id: webhook.config_id.clone(),
        endpoint: webhook.endpoint.hash().clone(),
        reason_type,
        at: dead_letter.at,
        // The interpreter fills it in: the position is known once the dead letter is acknowledged.
        position: Position::default(),
    };
    let gone = (reason_type == ReasonType::Gone).then(|| SettingDecision {
        endpoint: webhook.endpoint.hash().clone(),
        config_id: webhook.config_id.clone(),
        state: EndpointSetting::Gone,
        decided_at: finished.ended_at,
    });
    // The result says that the webhook ended, so it follows once the dead letter is durable. The tombstone comes before the
    // index entry: the owner can replay what is listed, and the snapshots of the next life have the same key. The index
    // entry comes before the settlement: until the dispatch is settled its record comes again, and the entry is written
    // by the repetition.
    let mut effects = vec![Effect::Publish(Record::DeadLetter(dead_letter)), finished.result(&status)];
    effects.extend(tombstone(finished));
    effects.extend([Effect::Write(Write::Index(entry)), settled(finished, status)]);
    effects.extend(finished.report_and_give_back());
    // After the settlement: a holder that takes over an unsettled dispatch of a disabled endpoint would hold a webhook that
    // is dead-lettered already. If a crash loses the decision, the next webhook gets a 410 too.
    effects.extend(gone.into_iter().flat_map(decide));
    effects
}

fn superseded(finished: &Finished<'_>) -> Vec<Effect> {
    // Delivering is as far as this holder knows; the result of the holder that settled the dispatch says how it ended.
    let mut effects = vec![finished.result(&finished.status(Phase::Delivering))];
    effects.extend(finished.report_and_give_back());
    effects
}

fn dead_letter(finished: &Finished<'_>, reason_type: ReasonType) -> DeadLetter {
    let dispatch = finished.situation.dispatch;
    let kept = finished.situation.policy.response_body == ResponseBody::Kept;
    let response_body = match finished.outcome {
        Outcome::Answered(answer) if kept && !answer.excerpt.is_empty() => Some(answer.excerpt.clone()),
        Outcome::Answered(_) | Outcome::Failed { .. } => None,
    };
    DeadLetter {
        dispatch: dispatch.clone(),
        reason_type,
        reason: finished.reason(reason_type),
        last_error: finished.outcome.error(),
        status: finished.outcome.status(),
        response_body,
        at: finished.ended_at,
    }
}

fn settled(finished: &Finished<'_>, status: Status) -> Effect {
    let (fence, attempt) = (finished.plan.fence, Some(finished.attempt()));
    Effect::Write(Write::Settle(Settlement { fence, status, attempt }))
}

fn tombstone(finished: &Finished<'_>) -> Option<Effect> {
    let dispatch = finished.situation.dispatch;
    dispatch.waited.then(|| Effect::Publish(Record::Tombstone(dispatch.webhook.id.clone(), dispatch.number)))
}

impl Finished<'_> {
    /// Why the webhook is dead-lettered, in words for its owner.
    pub fn reason(&self, reason_type: ReasonType) -> String {
        let cause = self.outcome.error().unwrap_or_default();
        match reason_type {
            ReasonType::Exhausted => {
                let max_attempts = self.situation.dispatch.webhook.max_attempts;
                format!("all {max_attempts} attempts failed, the last one: {cause}")
            }
            ReasonType::Gone => format!("{cause}: it wants no more webhooks and is disabled"),
            ReasonType::Unrecoverable | ReasonType::AddressRefused => cause,
        }
    }

    fn failure(&self) -> LastFailure {
        let error = self.outcome.error().unwrap_or_default();
        LastFailure { at: self.situation.moment.now, status: self.outcome.status(), error }
    }

    fn status(&self, phase: Phase) -> Status {
        let dispatch = self.situation.dispatch;
        let webhook = &dispatch.webhook;
        Status {
            replayed_from: dispatch.replayed_from,
            phase,
            attempts: dispatch.attempt - u32::from(self.outcome.lacks_key()),
            last_attempt_at: Some(self.situation.moment.now),
            last_status: self.outcome.status(),
            last_error: self.outcome.error(),
            ..Status::pending(webhook.id.clone(), webhook.config_id.clone(), dispatch.number, self.ended_at)
        }
    }
}
