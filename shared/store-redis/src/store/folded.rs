//! Writes to one list of what waits, folded: for each webhook at most one that takes out and one that puts in.
//!
//! Taking out goes first. Whatever the list held before, the folded writes leave it as the writes in their order would.

use std::collections::BTreeMap;

use domain::{Waiting, WebhookId};

#[derive(Debug, Default)]
struct Turn {
    through: Option<u64>,
    put: Option<Waiting>,
}

/// The writes of one close to one shard of the schedule, or to one parked list.
#[derive(Debug, Default)]
pub(super) struct Folded {
    by_id: BTreeMap<WebhookId, Turn>,
}

impl Folded {
    /// Puts a webhook in, unless a later dispatch of it is there.
    pub(super) fn put(&mut self, waiting: Waiting) {
        let turn = self.by_id.entry(waiting.dispatch.webhook.id.clone()).or_default();
        let later = turn.put.as_ref().is_some_and(|put| put.dispatch.number > waiting.dispatch.number);
        if !later {
            turn.put = Some(waiting);
        }
    }

    /// Takes a webhook out, up to a dispatch.
    pub(super) fn take_out(&mut self, id: WebhookId, through: u64) {
        let turn = self.by_id.entry(id).or_default();
        turn.put = turn.put.take().filter(|put| put.dispatch.number > through);
        turn.through = turn.through.max(Some(through));
    }

    /// What to take out, and up to which dispatch; then what to put in.
    pub(super) fn parts(self) -> (Vec<(WebhookId, u64)>, Vec<Waiting>) {
        let (mut out, mut put) = (Vec::new(), Vec::new());
        for (id, turn) in self.by_id {
            out.extend(turn.through.map(|through| (id, through)));
            put.extend(turn.put);
        }
        (out, put)
    }
}
