//! The changes of one apply to one list of waiting webhooks: for each webhook at most one that takes it out and one that
//! puts it in.
//!
//! Taking out goes first. Whatever the list holds before, the changes leave it as the writes in their order would.

use std::collections::BTreeMap;

use domain::{Waiting, WebhookId};

#[derive(Debug, Default)]
struct Change {
    through: Option<u64>,
    put: Option<Waiting>,
}

/// The changes to one shard of the schedule, or to what is held for one tenant at one endpoint.
#[derive(Debug, Default)]
pub(super) struct ListChanges {
    by_id: BTreeMap<WebhookId, Change>,
}

impl ListChanges {
    /// Puts a webhook in, unless a later dispatch of it is to be put in.
    pub(super) fn put(&mut self, waiting: Waiting) {
        let change = self.by_id.entry(waiting.dispatch.webhook.id.clone()).or_default();
        let later = change.put.as_ref().is_some_and(|put| put.dispatch.number > waiting.dispatch.number);
        if !later {
            change.put = Some(waiting);
        }
    }

    /// Takes a webhook out, up to a dispatch.
    pub(super) fn take_out(&mut self, id: WebhookId, through: u64) {
        let change = self.by_id.entry(id).or_default();
        change.put = change.put.take().filter(|put| put.dispatch.number > through);
        change.through = change.through.max(Some(through));
    }

    /// What to take out, and up to which dispatch; then what to put in.
    pub(super) fn parts(self) -> (Vec<(WebhookId, u64)>, Vec<Waiting>) {
        let (mut out, mut put) = (Vec::new(), Vec::new());
        for (id, change) in self.by_id {
            out.extend(change.through.map(|through| (id, through)));
            put.extend(change.put);
        }
        (out, put)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::{
        ConfigId, Dispatch, Endpoint, Lane, MAX_ATTEMPTS_DEFAULT, Payload, PayloadKind, Timestamp, WaitReason,
        Webhook,
    };

    use super::*;

    fn waiting(number: u64) -> Waiting {
        let webhook = Webhook {
            id: WebhookId::fresh(Timestamp::EPOCH, 7),
            config_id: ConfigId::parse("t").unwrap(),
            endpoint: Endpoint::parse("http://a.test/").unwrap(),
            payload: Payload { bytes: Arc::from(&b"{}"[..]), kind: PayloadKind::Json },
            headers: Vec::new(),
            idempotency_key: None,
            signing_secrets: Vec::new(),
            max_attempts: MAX_ATTEMPTS_DEFAULT,
            retry_on_status: Vec::new(),
            created_at: Timestamp::EPOCH,
            trace: None,
        };
        Waiting {
            dispatch: Dispatch { number, ..Dispatch::first(Arc::new(webhook)) },
            lane: Lane::Fast,
            due: Timestamp::EPOCH,
            reason: WaitReason::Retry,
            cooldown: None,
        }
    }

    /// What a list of one webhook holds after the writes in their order; `Ok` puts in, `Err` takes out.
    fn in_order(mut held: Option<u64>, writes: &[Result<u64, u64>]) -> Option<u64> {
        for write in writes {
            held = match *write {
                Ok(number) => held.max(Some(number)),
                Err(through) => held.filter(|number| *number > through),
            };
        }
        held
    }

    #[test]
    fn the_changes_leave_what_the_writes_in_their_order_would() {
        let all: Vec<Result<u64, u64>> = (1..=3).flat_map(|number| [Ok(number), Err(number)]).collect();
        let two = all.iter().flat_map(|first| all.iter().map(move |second| [*first, *second]));
        for [first, second] in two {
            for third in &all {
                let writes = [first, second, *third];
                let mut changes = ListChanges::default();
                for write in writes {
                    match write {
                        Ok(number) => changes.put(waiting(number)),
                        Err(through) => changes.take_out(WebhookId::fresh(Timestamp::EPOCH, 7), through),
                    }
                }
                let (out, put) = changes.parts();
                assert!(out.len() <= 1 && put.len() <= 1);
                let out = out.iter().map(|(_, through)| Err(*through));
                let then: Vec<_> = out.chain(put.iter().map(|put| Ok(put.dispatch.number))).collect();
                for held in [None, Some(1), Some(2), Some(3), Some(4)] {
                    assert_eq!(in_order(held, &then), in_order(held, &writes), "{writes:?} on {held:?}");
                }
            }
        }
    }
}
