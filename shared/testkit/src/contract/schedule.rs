//! The due set: released in order of due time, under leases that a newer entry ends (X7).

use std::collections::BTreeSet;

use delivery::ports::schedule::{Depth, Lease};
use domain::{Dispatch, Waiting, WebhookId, Write};

use crate::contract::at_once;
use crate::contract::store::Store;
use crate::generate::{at, dispatch, numbered, waiting};
use crate::random::SeededRandom;

fn lease(token: &str, now_ms: u64, until_ms: u64) -> Lease {
    Lease { token: token.to_owned(), now: at(now_ms), until: at(until_ms) }
}

async fn put(store: &Store, waiting: &Waiting) {
    store.write(Write::Schedule(waiting.clone())).await;
}

/// Puts fresh entries with these due times.
async fn fill(store: &Store, due_ms: &[u64]) -> Vec<Waiting> {
    let entries: Vec<_> = due_ms.iter().map(|due| waiting(&dispatch(), at(*due))).collect();
    for entry in &entries {
        put(store, entry).await;
    }
    entries
}

async fn leased(store: &Store, lease: &Lease, max: usize) -> Vec<Waiting> {
    store.schedule.lease(lease, max).await.expect("the store leases")
}

async fn forget(store: &Store, lease: &Lease, entries: &[Waiting]) {
    store.schedule.forget(lease, &ids(entries)).await.expect("the store forgets");
}

async fn depth(store: &Store, now_ms: u64) -> Depth {
    store.schedule.depth(at(now_ms)).await.expect("the store answers")
}

async fn next_due(store: &Store) -> Option<domain::Timestamp> {
    store.schedule.next_due().await.expect("the store answers")
}

fn ids(entries: &[Waiting]) -> Vec<WebhookId> {
    entries.iter().map(|entry| entry.dispatch.webhook.id.clone()).collect()
}

fn due_of(entries: &[Waiting]) -> Vec<domain::Timestamp> {
    entries.iter().map(|entry| entry.due).collect()
}

/// An empty schedule has nothing due, ever.
pub async fn an_empty_schedule_has_nothing_due(store: &Store) {
    assert_eq!(next_due(store).await, None);
    assert_eq!(depth(store, 1_000_000).await, Depth::default());
    assert_eq!(leased(store, &lease("a", 1_000_000, 2_000_000), 10).await, []);
}

/// "member and record move together" (X13): what comes out is what was put in, in every field.
pub async fn x13_member_and_record_move_together(store: &Store) {
    let entry = Waiting {
        cooldown: Some(domain::Cooldown::new(at(3), at(4))),
        lane: domain::Lane::Slow,
        reason: domain::WaitReason::Cooldown,
        ..waiting(&Dispatch { attempt: 4, ..numbered(&dispatch(), 9) }, at(5))
    };
    put(store, &entry).await;
    assert_eq!(leased(store, &lease("a", 5, 100), 10).await, [entry]);
}

/// "Leases at most `max` entries that are due": due at its time, not before.
pub async fn an_entry_is_due_at_its_time(store: &Store) {
    let entries = fill(store, &[1000]).await;
    assert_eq!(leased(store, &lease("a", 999, 2000), 10).await, []);
    assert_eq!(leased(store, &lease("a", 1000, 2000), 10).await, entries);
}

/// "at most `max`", "earliest first".
pub async fn the_earliest_due_are_leased_first(store: &Store) {
    let random = SeededRandom::new(2);
    let mut due: Vec<u64> = (0..60).map(|n| n * 10).collect();
    random.shuffle(&mut due);
    fill(store, &due).await;
    let mut order = Vec::new();
    for round in ["a", "b", "c"] {
        let some = leased(store, &lease(round, 1000, 5000), 20).await;
        assert_eq!(some.len(), 20);
        order.extend(due_of(&some));
    }
    assert_eq!(order, (0..60).map(|n| at(n * 10)).collect::<Vec<_>>());
}

/// "a leased entry is not leased again before its lease ends", and then it is.
pub async fn a_leased_entry_comes_again_after_its_lease(store: &Store) {
    let entries = fill(store, &[10]).await;
    assert_eq!(leased(store, &lease("a", 10, 500), 10).await, entries);
    assert_eq!(leased(store, &lease("b", 499, 900), 10).await, []);
    assert_eq!(leased(store, &lease("b", 500, 900), 10).await, entries);
}

/// 64 schedulers at once get disjoint entries, and together all of them.
pub async fn of_64_schedulers_each_gets_its_own(store: &Store) {
    let due: Vec<u64> = (0..640).collect();
    fill(store, &due).await;
    let batches = at_once(64, |number| {
        let (store, lease) = (store.clone(), lease(&format!("token-{number}"), 1000, 5000));
        async move { ids(&leased(&store, &lease, 10).await) }
    })
    .await;
    let handed_out: Vec<_> = batches.into_iter().flatten().collect();
    let different: BTreeSet<_> = handed_out.iter().cloned().collect();
    assert_eq!(handed_out.len(), different.len(), "an entry was leased twice");
    let rest = leased(store, &lease("rest", 1000, 5000), 1000).await;
    assert_eq!(different.len() + rest.len(), 640);
    assert!(ids(&rest).iter().all(|id| !different.contains(id)));
}

/// "Forgets entries that are still under this lease": gone for good, the others stay.
pub async fn a_forgotten_entry_is_gone(store: &Store) {
    let entries = fill(store, &[1, 2, 3]).await;
    let taken = lease("a", 10, 500);
    leased(store, &taken, 2).await;
    forget(store, &taken, &entries[..1]).await;
    assert_eq!(depth(store, 10).await.waiting, 2);
    assert_eq!(leased(store, &lease("b", 500, 900), 10).await, [entries[2].clone(), entries[1].clone()]);
}

/// "still under this lease": another's token forgets nothing, nor does one whose entry was leased anew.
pub async fn only_the_lease_that_holds_forgets(store: &Store) {
    let entries = fill(store, &[1]).await;
    let first = lease("first", 10, 500);
    forget(store, &first, &entries).await;
    leased(store, &first, 10).await;
    forget(store, &lease("other", 10, 500), &entries).await;
    leased(store, &lease("second", 500, 900), 10).await;
    forget(store, &first, &entries).await;
    assert_eq!(leased(store, &lease("third", 900, 1300), 10).await, entries);
}

/// "an entry written while leased is not leased any more, so that forgetting it with the old token changes nothing" (X7).
pub async fn x7_an_entry_written_while_leased_survives_the_old_lease(store: &Store) {
    let entries = fill(store, &[1, 1]).await;
    let (same, earlier) = (&entries[0], &entries[1]);
    let taken = lease("a", 10, 500);
    assert_eq!(leased(store, &taken, 10).await.len(), 2);
    let later = waiting(&numbered(&earlier.dispatch, 2), at(20));
    put(store, same).await;
    put(store, &later).await;
    forget(store, &taken, &entries).await;
    let mut left = leased(store, &lease("b", 20, 900), 10).await;
    left.sort_by_key(|entry| entry.dispatch.number);
    assert_eq!(left, [same.clone(), later]);
}

/// "unless a later dispatch of it is there": an earlier one neither replaces it nor ends its lease.
pub async fn an_earlier_dispatch_never_overwrites(store: &Store) {
    let third = waiting(&numbered(&dispatch(), 3), at(50));
    put(store, &third).await;
    let taken = lease("a", 50, 500);
    assert_eq!(leased(store, &taken, 10).await, std::slice::from_ref(&third));
    put(store, &waiting(&numbered(&third.dispatch, 2), at(1))).await;
    assert_eq!(leased(store, &lease("b", 60, 500), 10).await, [], "the lease holds");
    forget(store, &taken, &[third]).await;
    assert_eq!(depth(store, 60).await, Depth::default());
}

/// `Write::Schedule`: a later dispatch takes the place of an earlier one, with its own due time.
pub async fn a_later_dispatch_takes_the_place(store: &Store) {
    let first = waiting(&dispatch(), at(10));
    let second = waiting(&numbered(&first.dispatch, 2), at(100));
    for entry in [&first, &second] {
        put(store, entry).await;
    }
    assert_eq!((depth(store, 50).await, next_due(store).await), (Depth { waiting: 1, due: 0 }, Some(at(100))));
    assert_eq!(leased(store, &lease("a", 100, 500), 10).await, [second]);
}

/// "idempotent" and "commute": of several dispatches of one webhook the last stays, in whatever order, repeats included.
pub async fn dispatches_come_in_any_order(store: &Store) {
    let random = SeededRandom::new(3);
    let first = dispatch();
    let mut entries: Vec<_> = (1..=6).map(|n| waiting(&numbered(&first, n), at(100 - n))).collect();
    entries.extend(entries.clone());
    for round in 0..6 {
        random.shuffle(&mut entries);
        for entry in &entries {
            put(store, entry).await;
        }
        let taken = lease(&format!("round-{round}"), 1000, 5000);
        let left = leased(store, &taken, 10).await;
        assert_eq!(left, [waiting(&numbered(&first, 6), at(94))]);
        forget(store, &taken, &left).await;
    }
}

/// `Write::Unschedule`: "up to this dispatch", leased or not.
pub async fn unscheduling_takes_out_up_to_its_dispatch(store: &Store) {
    let entry = waiting(&numbered(&dispatch(), 3), at(10));
    let id = entry.dispatch.webhook.id.clone();
    put(store, &entry).await;
    store.write(Write::Unschedule(id.clone(), 2)).await;
    assert_eq!(leased(store, &lease("a", 10, 500), 10).await, [entry]);
    store.write(Write::Unschedule(id.clone(), 3)).await;
    store.write(Write::Unschedule(id, 3)).await;
    assert_eq!((depth(store, 1000).await, next_due(store).await), (Depth::default(), None));
}

/// "When the next entry is due, leased ones at the end of their lease".
pub async fn the_next_due_time_heeds_leases(store: &Store) {
    let entries = fill(store, &[300, 100]).await;
    assert_eq!(next_due(store).await, Some(at(100)));
    let taken = lease("a", 100, 500);
    assert_eq!(leased(store, &taken, 10).await, entries[1..]);
    assert_eq!(next_due(store).await, Some(at(300)));
    let late = lease("b", 300, 900);
    leased(store, &late, 10).await;
    assert_eq!(next_due(store).await, Some(at(500)));
    forget(store, &taken, &entries[1..]).await;
    assert_eq!(next_due(store).await, Some(at(900)));
}

/// `Depth`: everything, and what is due by now.
pub async fn depth_counts_what_waits_and_what_is_due(store: &Store) {
    fill(store, &[100, 200, 300, 300]).await;
    assert_eq!(depth(store, 99).await, Depth { waiting: 4, due: 0 });
    assert_eq!(depth(store, 200).await, Depth { waiting: 4, due: 2 });
    assert_eq!(depth(store, 300).await, Depth { waiting: 4, due: 4 });
    assert_eq!(leased(store, &lease("a", 150, 5000), 10).await.len(), 1);
    assert_eq!(depth(store, 300).await.waiting, 4, "a leased entry still waits");
}
