//! The fourth decision: what a record of the log restores of the hot state (RB-1).
//!
//! Order-free across keys, and repeatable: due entries keep the later dispatch, statuses, gates and decisions merge.

use crate::dead_letter::{DeadLetter, DeadLetterEntry, Position};
use crate::effect::{EndpointReport, Settlement, Write};
use crate::gate::{Gate, GateAnswer};
use crate::record::{DeliveryResult, Record, Waiting};
use crate::status::{Next, Phase, Status};
use crate::tally::Tally;
use crate::time::Timestamp;

/// What becomes of the gates that snapshots carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gates {
    /// They were lost, and are put back unless their window has ended by then.
    Lost(Timestamp),
    /// The store was not lost, and knows more of them than a snapshot does, so whether a probe has opened one. Those that
    /// are closed until then can have been opened by nobody: they are merged, in case a part of it was lost alone.
    Known(Timestamp),
}

/// What one record restores. `position` is where it stands; records that restore nothing give nothing.
pub fn rebuild(record: Record, position: Position, gates: Gates) -> Vec<Write> {
    match record {
        Record::Waiting(waiting) => waits(waiting, gates),
        Record::Tombstone(id, through) => vec![Write::Unschedule(id, through)],
        Record::Owner(decision) => vec![Write::Decide(decision)],
        Record::Result(result) => vec![finished(result)],
        Record::DeadLetter(letter) => vec![Write::Index(index_entry(&letter, position))],
        Record::Dispatch(..) | Record::Undecodable(_) => Vec::new(),
    }
}

/// The index entry of a dead letter that stands at `position`.
pub fn index_entry(letter: &DeadLetter, position: Position) -> DeadLetterEntry {
    let webhook = &letter.dispatch.webhook;
    DeadLetterEntry {
        id: webhook.id.clone(),
        config_id: webhook.config_id.clone(),
        endpoint: webhook.endpoint.hash().clone(),
        reason_type: letter.reason_type,
        at: letter.at,
        position,
    }
}

fn waits(waiting: Waiting, gates: Gates) -> Vec<Write> {
    let status = Write::Merge(waiting_status(&waiting));
    let gate = waiting.gate.filter(|gate| gates.lack(gate)).map(|gate| {
        Write::Report(EndpointReport {
            endpoint: waiting.dispatch.webhook.endpoint.clone(),
            bucket: Timestamp::EPOCH,
            keep_since: Timestamp::EPOCH,
            tally: Tally::default(),
            gate: Some(gate),
        })
    });
    let webhook = &waiting.dispatch.webhook;
    let parked = waiting.reason.is_parked();
    // A tombstone cannot tell where its webhook was parked; the snapshot of its resumption, which comes before it, can.
    let resumed = (!parked).then(|| {
        let (hash, config) = (webhook.endpoint.hash().clone(), webhook.config_id.clone());
        Write::Unpark(hash, config, webhook.id.clone(), waiting.dispatch.number)
    });
    let kept = if parked { Write::Park(waiting) } else { Write::Schedule(waiting) };
    [resumed, Some(kept), Some(status), gate].into_iter().flatten().collect()
}

impl Gates {
    fn lack(self, gate: &Gate) -> bool {
        match self {
            Self::Lost(now) => gate.answer(now) != GateAnswer::Open,
            Self::Known(until) => gate.answer(until) == GateAnswer::Closed,
        }
    }
}

/// The status that a waiting webhook's snapshot tells: everything before its dispatch is settled.
fn waiting_status(waiting: &Waiting) -> Status {
    let dispatch = &waiting.dispatch;
    let webhook = &dispatch.webhook;
    let settled = dispatch.number.saturating_sub(1);
    Status {
        life: dispatch.replayed_from,
        phase: if waiting.reason.is_parked() { Phase::Parked } else { Phase::Waiting },
        attempts: dispatch.attempt.saturating_sub(1),
        next: Some(Next { due: waiting.due, attempt: dispatch.attempt }),
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

    fn restores_gate(gate: Gate, gates: Gates) -> bool {
        let (dispatch, reason) = (Scene::new().dispatch, WaitReason::Gate);
        let waiting = Waiting { dispatch, lane: Lane::Fast, due: gate.opens_at, reason, gate: Some(gate) };
        let writes = rebuild(Record::Waiting(waiting), Position::default(), gates);
        assert!(writes.iter().any(|write| matches!(write, Write::Schedule(_))), "RB-1: what waits is put back");
        writes.iter().any(|write| matches!(write, Write::Report(report) if report.gate == Some(gate)))
    }

    #[test]
    fn a_lost_gate_is_put_back_until_its_window_ends() {
        let at = Timestamp::from_ms;
        let gate = Gate::new(at(100), at(150));
        assert!(restores_gate(gate, Gates::Lost(at(99))));
        assert!(restores_gate(gate, Gates::Lost(at(149))), "nobody knows of its probe any more");
        assert!(!restores_gate(gate, Gates::Lost(at(150))), "history");
        assert!(restores_gate(gate, Gates::Known(at(99))), "no probe was let through yet");
        assert!(!restores_gate(gate, Gates::Known(at(100))), "a probe may have opened it");
    }
}
