//! The operator's resume: what is held for one tenant's endpoint becomes due.
//!
//! `delivery`'s endpoints use-case calls it, group by group, after the owner's decision is stored, and again from the
//! scheduler's sweep for what a delivery held that had not seen the decision yet.

use crate::effect::{Effect, Write};
use crate::lane::Lane;
use crate::record::{Record, WaitReason, Waiting};
use crate::time::Timestamp;
use crate::webhook::Dispatch;

/// The effects that make held webhooks due at `now`: the snapshots first, then the due entries, and only then are they
/// taken off the held list. A webhook that a crash leaves on both lists is resumed again; its dispatch is the same one,
/// and a dispatch is claimed once (CL-1).
pub fn resume(held: Vec<Waiting>, now: Timestamp) -> Vec<Effect> {
    let due: Vec<Waiting> = held.into_iter().map(|waiting| due_now(waiting, now)).collect();
    let snapshots = due.iter().cloned().map(|waiting| Effect::Publish(Record::Waiting(waiting)));
    let entries = due.iter().cloned().map(|waiting| Effect::Write(Write::Schedule(waiting)));
    let removals = due.iter().map(|Waiting { dispatch: Dispatch { webhook, number, .. }, .. }| {
        let (hash, config) = (webhook.endpoint.hash().clone(), webhook.config_id.clone());
        Effect::Write(Write::Unhold(hash, config, webhook.id.clone(), *number))
    });
    snapshots.chain(entries).chain(removals).collect()
}

fn due_now(waiting: Waiting, now: Timestamp) -> Waiting {
    let dispatch = Dispatch { scheduled_at: now, ..waiting.dispatch };
    Waiting { dispatch, lane: Lane::Fast, due: now, reason: WaitReason::Retry, ..waiting }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{NOW, Scene, later, words};

    fn held(number: u64) -> Waiting {
        let dispatch = Dispatch { number, waited: true, ..Scene::new().dispatch };
        Waiting { dispatch, lane: Lane::Slow, due: NOW, reason: WaitReason::Paused, cooldown: None }
    }

    #[test]
    fn dl_1_what_is_resumed_is_durable_and_due_before_it_is_taken_off_the_held_list() {
        let effects = resume(vec![held(1), held(2)], later(9));
        let expected = ["publish waiting", "publish waiting", "schedule", "schedule", "unhold", "unhold"];
        assert_eq!(words(&effects), expected);
        let shared: Vec<bool> = effects.windows(2).map(|pair| pair[0].trip().takes(&pair[1])).collect();
        assert_eq!(shared, [true, false, true, false, true], "a removal never shares its entry's trip");
        assert_eq!(resume(Vec::new(), NOW), []);
    }

    #[test]
    fn what_is_resumed_is_the_same_dispatch_due_now_in_the_fast_lane() {
        let effects = resume(vec![held(3)], later(9));
        let Some(Effect::Publish(Record::Waiting(snapshot))) = effects.first() else { panic!("{effects:?}") };
        let Some(Effect::Write(Write::Schedule(entry))) = effects.get(1) else { panic!("{effects:?}") };
        assert_eq!(snapshot, entry);
        assert_eq!((entry.due, entry.dispatch.scheduled_at, entry.dispatch.number), (later(9), later(9), 3));
        assert_eq!((entry.lane, entry.reason), (Lane::Fast, WaitReason::Retry));
        let Some(Effect::Write(Write::Unhold(hash, config, id, through))) = effects.get(2) else {
            panic!("{effects:?}")
        };
        let webhook = &entry.dispatch.webhook;
        assert_eq!((hash, config, id, *through), (webhook.endpoint.hash(), &webhook.config_id, &webhook.id, 3));
    }
}
