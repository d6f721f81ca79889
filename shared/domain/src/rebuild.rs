//! The decision of a rebuild: what a record of the log restores of the hot state (RB-1).
//!
//! `delivery`'s rebuild use-case calls it for every record. The records may come in any order across keys and any number
//! of times: of due entries the later dispatch stays, and statuses, cooldowns and decisions merge.

use crate::cooldown::{Cooldown, CooldownAnswer};
use crate::dead_letter::{DeadLetter, DeadLetterEntry, Position};
use crate::effect::{EndpointReport, Settlement, Write};
use crate::record::{DeliveryResult, Record, Waiting};
use crate::status::{Next, Phase, Status};
use crate::tally::Tally;
use crate::time::Timestamp;

/// Which cooldowns of snapshots are put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cooldowns {
    /// The store was lost: those whose window has not ended by this time.
    Lost(Timestamp),
    /// The store is alive, and a part of it may have been lost alone: those that still hold at this time. No probe can have
    /// ended them. A cooldown that may have been probed is left as the store knows it, for a snapshot knows of no probe.
    Known(Timestamp),
}

/// The writes that restore what one record says. `position` is where it stands in its topic.
pub fn rebuild(record: Record, position: Position, cooldowns: Cooldowns) -> Vec<Write> {
    match record {
        Record::Waiting(waiting) => waits(waiting, cooldowns),
        Record::Tombstone(id, through) => vec![Write::Unschedule(id, through)],
        Record::Setting(decision) => vec![Write::Decide(decision)],
        Record::Result(result) => vec![finished(result)],
        Record::DeadLetter(dead_letter) => vec![Write::Index(index_entry(&dead_letter, position))],
        Record::Dispatch(..) | Record::Undecodable(_) => Vec::new(),
    }
}

/// The index entry of a dead letter that stands at `position`.
pub fn index_entry(dead_letter: &DeadLetter, position: Position) -> DeadLetterEntry {
    let webhook = &dead_letter.dispatch.webhook;
    DeadLetterEntry {
        id: webhook.id.clone(),
        config_id: webhook.config_id.clone(),
        endpoint: webhook.endpoint.hash().clone(),
        reason_type: dead_letter.reason_type,
        at: dead_letter.at,
        position,
    }
}

fn waits(waiting: Waiting, cooldowns: Cooldowns) -> Vec<Write> {
    let status = Write::Merge(waiting_status(&waiting));
    let cooldown = waiting.cooldown.filter(|cooldown| cooldowns.lack(cooldown)).map(|cooldown| {
        Write::Report(EndpointReport {
            endpoint: waiting.dispatch.webhook.endpoint.clone(),
            bucket: Timestamp::EPOCH,
            keep_since: Timestamp::EPOCH,
            tally: Tally::default(),
            cooldown: Some(cooldown),
        })
    });
    let webhook = &waiting.dispatch.webhook;
    let held = waiting.reason.is_held();
    // A tombstone does not name the held list that its webhook was on. The snapshot that a resumption publishes, which
    // comes before the tombstone, does.
    let resumed = (!held).then(|| {
        let (hash, config) = (webhook.endpoint.hash().clone(), webhook.config_id.clone());
        Write::Unhold(hash, config, webhook.id.clone(), waiting.dispatch.number)
    });
    let kept = if held { Write::Hold(waiting) } else { Write::Schedule(waiting) };
    [resumed, Some(kept), Some(status), cooldown].into_iter().flatten().collect()
}

impl Cooldowns {
    fn lack(self, cooldown: &Cooldown) -> bool {
        match self {
            Self::Lost(now) => cooldown.answer(now) != CooldownAnswer::Over,
            Self::Known(until) => cooldown.answer(until) == CooldownAnswer::Holding,
        }
    }
}

/// The status that follows from the snapshot of a waiting webhook: every earlier dispatch is settled.
fn waiting_status(waiting: &Waiting) -> Status {
    let dispatch = &waiting.dispatch;
    let webhook = &dispatch.webhook;
    let settled = dispatch.number.saturating_sub(1);
    Status {
        replayed_from: dispatch.replayed_from,
        phase: if waiting.reason.is_held() { Phase::Held } else { Phase::Waiting },
        attempts: dispatch.attempt.saturating_sub(1),
        next: Some(Next { due: waiting.due, attempt: dispatch.attempt }),
        waiting_for: Some(waiting.reason),
        ..Status::pending(webhook.id.clone(), webhook.config_id.clone(), settled, webhook.created_at)
    }
    .after(dispatch)
}

fn finished(result: DeliveryResult) -> Write {
    Write::Settle(Settlement { fence: None, status: result.status, attempt: Some(result.attempt) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::Lane;
    use crate::record::WaitReason;
    use crate::samples::Scene;

    fn restores_cooldown(cooldown: Cooldown, cooldowns: Cooldowns) -> bool {
        let (dispatch, reason) = (Scene::new().dispatch, WaitReason::Cooldown);
        let waiting = Waiting { dispatch, lane: Lane::Fast, due: cooldown.ends_at, reason, cooldown: Some(cooldown) };
        let writes = rebuild(Record::Waiting(waiting), Position::default(), cooldowns);
        assert!(writes.iter().any(|write| matches!(write, Write::Schedule(_))), "RB-1: what waits is put back");
        writes.iter().any(|write| matches!(write, Write::Report(report) if report.cooldown == Some(cooldown)))
    }

    #[test]
    fn a_lost_cooldown_is_put_back_until_its_window_ends() {
        let at = Timestamp::from_ms;
        let cooldown = Cooldown::new(at(100), at(150));
        assert!(restores_cooldown(cooldown, Cooldowns::Lost(at(99))));
        assert!(restores_cooldown(cooldown, Cooldowns::Lost(at(149))), "its probe is lost with the store");
        assert!(!restores_cooldown(cooldown, Cooldowns::Lost(at(150))), "history");
        assert!(restores_cooldown(cooldown, Cooldowns::Known(at(99))), "no probe was let through yet");
        assert!(!restores_cooldown(cooldown, Cooldowns::Known(at(100))), "a probe may have ended it");
    }
}
