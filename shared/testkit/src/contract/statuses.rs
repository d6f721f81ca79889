//! Statuses and attempts: merged in any order (ST-1), bounded, for readers.

use domain::{ATTEMPTS_KEPT, Attempt, Dispatch, Phase, ReasonType, Settlement, Status, WaitReason, Write};

use crate::contract::at_once;
use crate::contract::store::Store;
use crate::generate::{at, attempt, dispatch, numbered, status, webhook_id};
use crate::random::SeededRandom;

fn finished(dispatch: &Dispatch) -> Write {
    let settled = status(dispatch, Phase::Waiting);
    Write::Settle(Settlement { fence: None, status: settled, attempt: Some(attempt(dispatch)) })
}

fn attempts_of(first: &Dispatch, count: u32) -> Vec<Dispatch> {
    (1..=count).map(|n| Dispatch { attempt: n, ..numbered(first, u64::from(n)) }).collect()
}

fn places(attempts: &[Attempt]) -> Vec<u64> {
    attempts.iter().map(|attempt| attempt.dispatch).collect()
}

/// "`None` for one that is not known", and "in order", repeats included.
pub async fn statuses_come_in_the_order_asked_for(store: &Store) {
    let (a, b, unknown) = (dispatch(), dispatch(), webhook_id());
    for known in [&a, &b] {
        store.write(Write::Merge(status(known, Phase::Waiting))).await;
    }
    let ids = [b.webhook.id.clone(), unknown.clone(), a.webhook.id.clone(), b.webhook.id.clone()];
    let found = store.statuses.statuses(&ids).await.expect("the store answers");
    let found: Vec<_> = found.into_iter().map(|status| status.map(|status| status.id)).collect();
    assert_eq!(found, [Some(b.webhook.id.clone()), None, Some(a.webhook.id.clone()), Some(b.webhook.id.clone())]);
    assert_eq!(store.attempts(&unknown).await, None);
    assert_eq!(store.statuses.statuses(&[]).await.expect("the store answers"), []);
}

/// Every field of a status and of an attempt is read back as it was written.
pub async fn a_status_is_read_back_whole(store: &Store) {
    let third = Dispatch { attempt: 3, ..numbered(&dispatch(), 5) };
    let full = Status {
        last_attempt_at: Some(at(7)),
        last_status: Some(429),
        last_error: Some("the endpoint answered 429: \"später\"\n".to_owned()),
        updated_at: at(9),
        ..status(&third, Phase::Waiting)
    };
    let made = Attempt { status: None, error: None, ..attempt(&third) };
    let settlement = Settlement { fence: None, status: full.clone(), attempt: Some(made.clone()) };
    store.write(Write::Settle(settlement)).await;
    assert_eq!(store.status(&third.webhook.id).await, Some(full));
    assert_eq!(store.attempts(&third.webhook.id).await, Some(vec![made]));
}

/// ST-1: of statuses that differ in nothing but the reason, one stays, whatever the order: the domain's.
pub async fn reasons_merge_in_any_order(store: &Store) {
    let random = SeededRandom::new(3);
    for phase in [Phase::Waiting, Phase::Held, Phase::Dead] {
        let first = dispatch();
        let mut statuses: Vec<Status> = WaitReason::ALL
            .into_iter()
            .map(|reason| Status { waiting_for: Some(reason), reason_type: None, ..status(&first, phase) })
            .chain(ReasonType::ALL.into_iter().map(|reason| Status {
                waiting_for: None,
                reason_type: Some(reason),
                ..status(&first, phase)
            }))
            .collect();
        let furthest = statuses.iter().cloned().reduce(Status::merge);
        random.shuffle(&mut statuses);
        for status in &statuses {
            store.write(Write::Merge(status.clone())).await;
        }
        assert_eq!(store.status(&first.webhook.id).await, furthest, "{phase:?}");
    }
}

/// A webhook that was merged and never tried has no attempts, but is known.
pub async fn a_webhook_without_attempts_is_known(store: &Store) {
    let fresh = dispatch();
    store.write(Write::Merge(status(&fresh, Phase::Pending))).await;
    assert_eq!(store.attempts(&fresh.webhook.id).await, Some(Vec::new()));
}

/// ST-1: whatever the order of the writes, the status is the domain's merge of them all.
pub async fn statuses_merge_in_any_order(store: &Store) {
    let random = SeededRandom::new(1);
    for _ in 0..12 {
        let first = dispatch();
        let phases = [Phase::Pending, Phase::Waiting, Phase::Held, Phase::Delivered, Phase::Dead];
        let mut statuses = Vec::new();
        for number in 1..=3 {
            let at = at(random.below(1000));
            let of_number = phases.map(|phase| Status { updated_at: at, ..status(&numbered(&first, number), phase) });
            statuses.extend(of_number);
        }
        let furthest = statuses.iter().cloned().reduce(Status::merge);
        random.shuffle(&mut statuses);
        for status in &statuses {
            store.write(Write::Merge(status.clone())).await;
        }
        assert_eq!(store.status(&first.webhook.id).await, furthest);
    }
}

/// ST-1, CL-1: of two holders of one dispatch, one delivered it and one dead-lettered it. In either order it is delivered;
/// of a later dispatch, the end counts.
pub async fn a_delivery_outranks_a_dead_letter_of_its_dispatch(store: &Store) {
    for phases in [[Phase::Delivered, Phase::Dead], [Phase::Dead, Phase::Delivered]] {
        let first = dispatch();
        for phase in phases {
            store.write(Write::Merge(status(&first, phase))).await;
        }
        assert_eq!(store.status(&first.webhook.id).await, Some(status(&first, Phase::Delivered)), "{phases:?}");
        let later = status(&numbered(&first, 2), Phase::Dead);
        store.write(Write::Merge(later.clone())).await;
        assert_eq!(store.status(&first.webhook.id).await, Some(later));
    }
}

/// The status of an accepted webhook is the lowest: it creates, and of what is known it moves `updated_at` at most (W8).
pub async fn the_first_status_only_creates(store: &Store) {
    for known in [None, Some(Phase::Pending), Some(Phase::Held), Some(Phase::Delivered)] {
        let first = dispatch();
        let webhook = &first.webhook;
        let accepted = |ms| Status::pending(webhook.id.clone(), webhook.config_id.clone(), 1, at(ms));
        let known = known.map(|phase| Status { updated_at: at(5), ..status(&first, phase) });
        let merged = known.iter().cloned().chain([accepted(3), accepted(9), accepted(4)]);
        for status in merged.clone() {
            store.write(Write::Merge(status)).await;
        }
        assert_eq!(store.status(&webhook.id).await, merged.reduce(Status::merge), "after {known:?}");
    }
}

/// ST-1, at once: 64 merges of one webhook leave the domain's merge of them all.
pub async fn of_64_merges_at_once_none_is_lost(store: &Store) {
    let first = dispatch();
    let of = |number: usize| {
        let number = u64::try_from(number).unwrap_or_default();
        let phase = if number.is_multiple_of(2) { Phase::Waiting } else { Phase::Pending };
        Status { updated_at: at(1000 - number), ..status(&numbered(&first, 1 + number % 16), phase) }
    };
    at_once(64, |number| {
        let (store, status) = (store.clone(), of(number));
        async move { store.write(Write::Merge(status)).await }
    })
    .await;
    let furthest = (0..64).map(of).reduce(Status::merge);
    assert_eq!(store.status(&first.webhook.id).await, furthest);
}

/// "while a live claim is held, a pending webhook reads as delivering", and as pending once it is given back.
pub async fn a_claimed_pending_webhook_reads_as_delivering(store: &Store) {
    let first = dispatch();
    let id = &first.webhook.id;
    store.write(Write::Merge(status(&first, Phase::Pending))).await;
    let fence = store.take(&first, "a").await;
    assert_eq!(store.status(id).await, Some(status(&first, Phase::Delivering)));
    store.write(Write::Unclaim(id.clone(), fence)).await;
    assert_eq!(store.status(id).await, Some(status(&first, Phase::Pending)));
}

/// Only the pending dispatch itself reads as delivering: what is settled reads as it is.
pub async fn a_claim_hides_no_settled_status(store: &Store) {
    let first = dispatch();
    store.write(Write::Merge(status(&first, Phase::Waiting))).await;
    store.take(&numbered(&first, 2), "a").await;
    let phase = store.status(&first.webhook.id).await.map(|status| status.phase);
    assert_eq!(phase, Some(Phase::Waiting));
}

/// "The last attempts, oldest first, at most `ATTEMPTS_KEPT`".
pub async fn only_the_last_attempts_are_kept(store: &Store) {
    let first = dispatch();
    let kept = u32::try_from(ATTEMPTS_KEPT).unwrap_or_default();
    for made in attempts_of(&first, kept + 7) {
        store.write(finished(&made)).await;
    }
    let attempts = store.attempts(&first.webhook.id).await.expect("it is known");
    assert_eq!(places(&attempts), (8..=u64::from(kept) + 7).collect::<Vec<_>>());
}

/// Attempts are one per (dispatch, number): repeats and any order of writing change nothing (RB-1).
pub async fn attempts_come_in_any_order_and_once(store: &Store) {
    let random = SeededRandom::new(5);
    let kept = u32::try_from(ATTEMPTS_KEPT).unwrap_or_default();
    for _ in 0..4 {
        let first = dispatch();
        let mut made = attempts_of(&first, kept + 4);
        made.extend(attempts_of(&first, kept));
        random.shuffle(&mut made);
        for one in &made {
            store.write(finished(one)).await;
        }
        let attempts = store.attempts(&first.webhook.id).await.expect("it is known");
        assert_eq!(places(&attempts), (5..=u64::from(kept) + 4).collect::<Vec<_>>());
    }
}

/// "atomic on its own": attempts of 64 tasks at once are all taken in, up to the bound.
pub async fn of_64_attempts_at_once_the_last_are_kept(store: &Store) {
    let first = dispatch();
    let made = attempts_of(&first, 64);
    at_once(64, |number| {
        let (store, write) = (store.clone(), made.get(number).map(finished));
        async move { store.write_all(write.into_iter().collect()).await }
    })
    .await;
    let attempts = store.attempts(&first.webhook.id).await.expect("it is known");
    assert_eq!(places(&attempts), (45..=64).collect::<Vec<_>>());
}
