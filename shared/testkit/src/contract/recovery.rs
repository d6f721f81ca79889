//! Recovery: the epoch of a rebuilt hot state, the rebuild's lock, and the fingerprint of what waits (RB-1).

use std::time::Duration;

use delivery::ports::recovery::{Cursor, Epoch, Scope};
use delivery::ports::schedule::Lease;
use domain::{ClaimHolder, Fence, Memory, Waiting, Write};

use crate::contract::at_once;
use crate::contract::store::Store;
use crate::generate::{at, dispatch, held, numbered, waiting};

fn holder(name: &str) -> ClaimHolder {
    ClaimHolder(name.to_owned())
}

async fn lock(store: &Store, name: &str, (now_ms, until_ms): (u64, u64)) -> Option<(Fence, Cursor)> {
    store.recovery.lock(&holder(name), at(now_ms), at(until_ms)).await.expect("the store answers")
}

async fn locked(store: &Store, name: &str, times: (u64, u64)) -> (Fence, Cursor) {
    lock(store, name, times).await.expect("the lock is free")
}

async fn advance(store: &Store, fence: Fence, cursor: &Cursor) -> bool {
    store.recovery.advance(fence, cursor).await.expect("the store answers")
}

async fn fingerprint(store: &Store) -> u64 {
    store.recovery.fingerprint().await.expect("the store answers")
}

fn far() -> Cursor {
    let (offsets, ends) = (vec![7, 0, 9], vec![8, 0, 12]);
    Cursor { phase: 1, offsets, ends, replayed: 16, scope: Scope::Waiting, begun_at: at(5) }
}

fn epoch() -> Epoch {
    Epoch { number: 3, completed_at: at(9), replayed: 1234, statuses_pending: false }
}

/// "`None` when the hot state was lost": a fresh store has no epoch.
pub async fn a_fresh_store_counts_as_lost(store: &Store) {
    assert_eq!(store.recovery.epoch().await.expect("the store answers"), None);
}

/// "one live holder at a time": of 64 at once one gets the lock.
pub async fn one_of_64_gets_the_lock(store: &Store) {
    let locks = at_once(64, |number| {
        let store = store.clone();
        async move { lock(&store, &format!("holder-{number}"), (0, 100)).await }
    })
    .await;
    let held: Vec<_> = locks.into_iter().flatten().collect();
    assert_eq!(held.len(), 1);
    assert_eq!(held[0].1, Cursor::default(), "nothing is rebuilt yet");
}

/// "Takes or renews the lock": its holder keeps fence and cursor, and holds it longer.
pub async fn a_renewal_keeps_fence_and_cursor(store: &Store) {
    let (fence, _) = locked(store, "a", (0, 100)).await;
    assert!(advance(store, fence, &far()).await);
    assert_eq!(locked(store, "a", (50, 200)).await, (fence, far()));
    assert_eq!(lock(store, "b", (150, 300)).await, None, "renewed until 200");
}

/// "`None` when another run holds it", to the millisecond; the run that takes over goes on from the cursor.
pub async fn an_expired_lock_is_taken_over_with_its_cursor(store: &Store) {
    let (fence, _) = locked(store, "a", (0, 100)).await;
    assert!(advance(store, fence, &far()).await);
    assert_eq!(lock(store, "b", (99, 200)).await, None);
    let (second, cursor) = locked(store, "b", (100, 200)).await;
    assert_eq!(cursor, far());
    assert!(second > fence, "fences count up: {fence:?}, {second:?}");
}

/// "which gives it back when that is `now`": the next run gets it, with the cursor.
pub async fn a_lock_that_is_given_back_is_free_at_once(store: &Store) {
    let (fence, _) = locked(store, "a", (0, 100)).await;
    assert!(advance(store, fence, &far()).await);
    assert_eq!(locked(store, "a", (50, 50)).await, (fence, far()));
    let (second, cursor) = locked(store, "b", (50, 150)).await;
    assert_eq!(cursor, far());
    assert!(second > fence, "fences count up: {fence:?}, {second:?}");
}

/// "a stale fence moves nothing": neither the cursor nor the epoch.
pub async fn a_stale_fence_moves_nothing(store: &Store) {
    let (stale, _) = locked(store, "a", (0, 100)).await;
    let (live, _) = locked(store, "b", (100, 200)).await;
    assert!(!advance(store, stale, &far()).await);
    assert!(!store.recovery.complete(stale, &epoch()).await.expect("the store answers"));
    assert_eq!(store.recovery.epoch().await.expect("the store answers"), None);
    assert_eq!(locked(store, "b", (150, 200)).await, (live, Cursor::default()));
}

/// "Sets the epoch", with every field, and a later rebuild sets a later one.
pub async fn a_completed_rebuild_leaves_its_mark(store: &Store) {
    let (fence, _) = locked(store, "a", (0, 100)).await;
    for (number, statuses_pending) in [(3, true), (3, false), (4, false)] {
        let epoch = Epoch { number, statuses_pending, ..epoch() };
        assert!(store.recovery.complete(fence, &epoch).await.expect("the store answers"));
        let memory = store.acquire(&dispatch(), "a").await.memory;
        assert_eq!(memory, if statuses_pending { Memory::StatusesPending(at(9)) } else { Memory::Since(at(9)) });
        assert_eq!(store.recovery.epoch().await.expect("the store answers"), Some(epoch));
    }
}

fn keep(entry: &Waiting) -> Write {
    if entry.reason.is_held() { Write::Hold(entry.clone()) } else { Write::Schedule(entry.clone()) }
}

fn take_out(entry: &Waiting) -> Write {
    let webhook = &entry.dispatch.webhook;
    if entry.reason.is_held() {
        let (hash, config) = (webhook.endpoint.hash().clone(), webhook.config_id.clone());
        Write::Unhold(hash, config, webhook.id.clone(), u64::MAX >> 16)
    } else {
        Write::Unschedule(webhook.id.clone(), u64::MAX >> 16)
    }
}

fn some_waiting() -> Vec<Waiting> {
    let scheduled = (0..20).map(|n| waiting(&dispatch(), at(1000 * n)));
    scheduled.chain((0..5).map(|n| held(&dispatch(), at(n)))).collect()
}

/// "the same for the same webhooks at the same times in any order".
pub async fn the_fingerprint_knows_no_order(store: &Store) {
    let empty = fingerprint(store).await;
    let mut entries = some_waiting();
    store.write_all(entries.iter().map(keep).collect()).await;
    let full = fingerprint(store).await;
    assert_ne!(full, empty);
    store.write_all(entries.iter().map(take_out).collect()).await;
    assert_eq!(fingerprint(store).await, empty);
    entries.reverse();
    for entry in &entries {
        store.write(keep(entry)).await;
    }
    assert_eq!(fingerprint(store).await, full);
}

/// "for the same webhooks at the same times": a lease changes nothing about what waits.
pub async fn the_fingerprint_knows_no_leases(store: &Store) {
    store.write_all(some_waiting().iter().map(keep).collect()).await;
    let full = fingerprint(store).await;
    let lease = Lease { token: "a".to_owned(), now: at(5000), until: at(9000) };
    assert!(!store.schedule.lease(&lease, 3).await.expect("the store leases").is_empty());
    assert_eq!(fingerprint(store).await, full);
}

/// "of everything that waits": another due time, another dispatch, one less or one more is another fingerprint.
pub async fn the_fingerprint_tells_every_difference(store: &Store) {
    let entries = some_waiting();
    store.write_all(entries.iter().map(keep).collect()).await;
    let full = fingerprint(store).await;
    for other in others(&entries[3], &entries[22]) {
        let original = entries.iter().find(|entry| entry.dispatch.webhook.id == other.dispatch.webhook.id);
        store.write(keep(&other)).await;
        assert_ne!(fingerprint(store).await, full, "{other:?}");
        store.write(take_out(&other)).await;
        store.write_all(original.map(keep).into_iter().collect()).await;
        assert_eq!(fingerprint(store).await, full);
    }
    store.write(take_out(&entries[22])).await;
    assert_ne!(fingerprint(store).await, full, "one less");
}

/// Webhooks that wait differently, or that did not wait before.
fn others(due: &Waiting, kept: &Waiting) -> [Waiting; 5] {
    [
        Waiting { due: due.due.plus(Duration::from_millis(1)), ..due.clone() },
        Waiting { dispatch: numbered(&due.dispatch, 2), ..due.clone() },
        Waiting { dispatch: numbered(&kept.dispatch, 2), ..kept.clone() },
        waiting(&dispatch(), at(0)),
        held(&dispatch(), at(0)),
    ]
}
