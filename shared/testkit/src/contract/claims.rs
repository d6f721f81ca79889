//! Claims: one live holder per dispatch, fences, takeovers and duplicates (CL-1).

use delivery::ports::hot_state::AcquireRequest;
use domain::{ClaimFact, Duplicate, Fence, Phase, Settlement, Status, Write};

use crate::contract::at_once;
use crate::contract::store::{Store, claim, fence, open};
use crate::generate::{at, attempt, dispatch, numbered, status};

const SETTLED: ClaimFact = ClaimFact::Settled(Duplicate { terminal: false, next: None });
const ENDED: ClaimFact = ClaimFact::Settled(Duplicate { terminal: true, next: None });

fn settle(fence: Fence, status: Status) -> Write {
    Write::Settle(Settlement { fence: Some(fence), status, attempt: None })
}

/// "Takes the claim": a fresh dispatch is free, and taking it is no takeover.
pub async fn a_free_claim_is_taken(store: &Store) {
    let facts = store.acquire(&dispatch(), "a").await;
    assert!(matches!(facts.claim, ClaimFact::Taken { takeover: false, .. }), "{:?}", facts.claim);
}

/// "every part of an `acquire` is atomic" and CL-1: of 64 holders at once one gets the claim, the others learn its end.
pub async fn one_of_64_holders_gets_the_claim(store: &Store) {
    let wanted = dispatch();
    let facts = at_once(64, |number| {
        let (store, wanted) = (store.clone(), wanted.clone());
        async move { store.acquire(&wanted, &format!("holder-{number}")).await.claim }
    })
    .await;
    let taken = facts.iter().filter(|fact| matches!(fact, ClaimFact::Taken { takeover: false, .. })).count();
    let held = facts.iter().filter(|fact| **fact == ClaimFact::Held { until: at(60_000) }).count();
    assert_eq!((taken, held), (1, 63), "{facts:?}");
}

/// `ClaimState::take`: a live claim is held until its expiry, to the millisecond, whatever the wall clock says.
pub async fn a_claim_is_taken_over_when_it_has_expired(store: &Store) {
    let wanted = dispatch();
    let first = store.take(&wanted, "a").await;
    let later = |now| AcquireRequest { now: at(now), claim: claim(&wanted, "b", at(200_000)), ..open(&wanted, "b") };
    let held = store.hot.acquire(later(59_999)).await.claim;
    assert_eq!(held, ClaimFact::Held { until: at(60_000) });
    let facts = store.hot.acquire(later(60_000)).await;
    assert!(matches!(facts.claim, ClaimFact::Taken { takeover: true, .. }), "{:?}", facts.claim);
    assert!(fence(&facts) > first, "fences count up: {first:?}, {:?}", facts.claim);
}

/// `ClaimState::take`: the holder of a live claim may take it again, and its earlier fence is stale then.
pub async fn an_holder_takes_its_own_claim_again(store: &Store) {
    let wanted = dispatch();
    let first = store.take(&wanted, "a").await;
    let facts = store.acquire(&wanted, "a").await;
    assert!(matches!(facts.claim, ClaimFact::Taken { takeover: true, .. }), "{:?}", facts.claim);
    store.write(settle(first, status(&wanted, Phase::Delivered))).await;
    assert_eq!(store.status(&wanted.webhook.id).await, None, "a stale fence changes nothing");
}

/// "By the clock, so that a fence given before the store was lost is stale after it".
pub async fn fences_are_at_least_the_time(store: &Store) {
    let fence = store.take(&dispatch(), "a").await;
    assert!(fence >= Fence(at(0).as_ms()), "{fence:?}");
}

/// "Settles a claimed dispatch": it is a duplicate from then on, a later dispatch is not.
pub async fn a_settled_dispatch_is_a_duplicate(store: &Store) {
    let first = dispatch();
    let fence = store.take(&first, "a").await;
    let pending_again = Status { dispatch: 2, ..status(&first, Phase::Pending) };
    store.write(settle(fence, pending_again)).await;
    assert_eq!(store.acquire(&first, "b").await.claim, SETTLED);
    let second = store.acquire(&numbered(&first, 2), "b").await;
    assert!(matches!(second.claim, ClaimFact::Taken { takeover: false, .. }), "{:?}", second.claim);
}

/// ST-1, CL-1: after a loss, a record was worked on again whose webhook had ended. That hides neither the end, once it is
/// known again, nor a replay.
pub async fn an_end_outranks_what_a_loss_let_happen_after_it(store: &Store) {
    let first = dispatch();
    let dead = status(&first, Phase::Dead);
    store.write(Write::Merge(status(&numbered(&first, 2), Phase::Held))).await;
    store.take(&numbered(&first, 3), "a").await;
    store.write(Write::Merge(dead.clone())).await;
    assert_eq!(store.status(&first.webhook.id).await, Some(dead));
    for number in 1..=4 {
        assert_eq!(store.acquire(&numbered(&first, number), "b").await.claim, ENDED);
    }
    let replay = first.replay(at(50));
    let again = status(&replay, Phase::Pending);
    store.write(Write::Merge(again.clone())).await;
    assert_eq!(store.status(&first.webhook.id).await, Some(again));
    let claim = store.acquire(&replay, "b").await.claim;
    assert!(matches!(claim, ClaimFact::Taken { takeover: false, .. }), "{claim:?}");
}

/// `Duplicate::next`: it is given for exactly the settled dispatch, not for one before it.
pub async fn a_duplicate_learns_what_follows_it_exactly(store: &Store) {
    let third = numbered(&dispatch(), 3);
    let waits = status(&third, Phase::Waiting);
    let fence = store.take(&third, "a").await;
    store.write(settle(fence, waits.clone())).await;
    let same = store.acquire(&third, "b").await.claim;
    assert_eq!(same, ClaimFact::Settled(Duplicate { terminal: false, next: waits.next }));
    assert_eq!(store.acquire(&numbered(&third, 2), "b").await.claim, SETTLED);
}

/// "Settles a claimed dispatch; a stale fence changes nothing": neither status nor attempts nor the claim.
pub async fn a_stale_fence_settles_nothing(store: &Store) {
    let wanted = dispatch();
    let stale = store.take(&wanted, "a").await;
    let taken_over =
        AcquireRequest { now: at(60_000), claim: claim(&wanted, "b", at(200_000)), ..open(&wanted, "b") };
    let live = fence(&store.hot.acquire(taken_over).await);
    let settlement =
        Settlement { fence: Some(stale), status: status(&wanted, Phase::Dead), attempt: Some(attempt(&wanted)) };
    store.write(Write::Settle(settlement)).await;
    assert_eq!((store.status(&wanted.webhook.id).await, store.attempts(&wanted.webhook.id).await), (None, None));
    store.write(settle(live, status(&wanted, Phase::Delivered))).await;
    let known = store.status(&wanted.webhook.id).await.map(|status| status.phase);
    assert_eq!(known, Some(Phase::Delivered), "the live holder settles");
}

/// "idempotent": settling twice is settling once.
pub async fn settling_twice_is_settling_once(store: &Store) {
    let wanted = dispatch();
    let fence = store.take(&wanted, "a").await;
    let waits = status(&wanted, Phase::Waiting);
    let settlement = Settlement { fence: Some(fence), status: waits.clone(), attempt: Some(attempt(&wanted)) };
    store.write_all(vec![Write::Settle(settlement.clone()), Write::Settle(settlement)]).await;
    assert_eq!(store.status(&wanted.webhook.id).await, Some(waits));
    assert_eq!(store.attempts(&wanted.webhook.id).await, Some(vec![attempt(&wanted)]));
}

/// `Settlement::fence`: "`None` when the store could not say, which merges the status without a claim".
pub async fn a_settlement_without_a_fence_merges(store: &Store) {
    let wanted = dispatch();
    let ends = status(&wanted, Phase::Delivered);
    let settlement = Settlement { fence: None, status: ends.clone(), attempt: Some(attempt(&wanted)) };
    store.write(Write::Settle(settlement.clone())).await;
    assert_eq!(store.status(&wanted.webhook.id).await, Some(ends));
    assert_eq!(store.attempts(&wanted.webhook.id).await, Some(vec![attempt(&wanted)]));
    assert_eq!(store.acquire(&wanted, "a").await.claim, ENDED);
}

/// `ClaimState::admits`: "a store that was lost after the fence was given knows no fence, and admits its holder", once.
pub async fn a_lost_store_takes_the_word_of_who_still_works(store: &Store) {
    let wanted = dispatch();
    let unknown = Fence(at(0).as_ms());
    store.write(settle(unknown, status(&wanted, Phase::Delivered))).await;
    let phase = store.status(&wanted.webhook.id).await.map(|status| status.phase);
    assert_eq!(phase, Some(Phase::Delivered));
    store.write(settle(unknown, status(&wanted, Phase::Dead))).await;
    let phase = store.status(&wanted.webhook.id).await.map(|status| status.phase);
    assert_eq!(phase, Some(Phase::Delivered), "the dispatch is settled");
}

/// "Gives a claim back that was taken and not used": the next one is no takeover.
pub async fn a_claim_given_back_is_free(store: &Store) {
    let wanted = dispatch();
    let fence = store.take(&wanted, "a").await;
    store.write(Write::Unclaim(wanted.webhook.id.clone(), fence)).await;
    let facts = store.acquire(&wanted, "b").await;
    assert!(matches!(facts.claim, ClaimFact::Taken { takeover: false, .. }), "{:?}", facts.claim);
}

/// "Gives a claim back; a stale fence changes nothing".
pub async fn a_stale_fence_gives_nothing_back(store: &Store) {
    let wanted = dispatch();
    let first = store.take(&wanted, "a").await;
    store.take(&wanted, "a").await;
    store.write(Write::Unclaim(wanted.webhook.id.clone(), first)).await;
    assert_eq!(store.acquire(&wanted, "b").await.claim, ClaimFact::Held { until: at(60_000) });
}

/// `ClaimState::take`: a later dispatch takes the claim of an earlier one, whose record is a duplicate then.
pub async fn a_later_dispatch_supersedes_an_earlier_one(store: &Store) {
    let first = dispatch();
    let stale = store.take(&first, "a").await;
    let second = store.acquire(&numbered(&first, 2), "b").await;
    assert!(matches!(second.claim, ClaimFact::Taken { takeover: false, .. }), "{:?}", second.claim);
    assert_eq!(store.acquire(&first, "c").await.claim, SETTLED);
    store.write(settle(stale, status(&first, Phase::Waiting))).await;
    assert_eq!(store.status(&first.webhook.id).await, None, "the earlier fence is stale");
}

/// `ClaimState::take`: after its end a webhook lives again only by the replay of that very end.
pub async fn an_ended_webhook_lives_again_only_by_its_replay(store: &Store) {
    let third = numbered(&dispatch(), 3);
    let fence = store.take(&third, "a").await;
    store.write(settle(fence, status(&third, Phase::Dead))).await;
    assert_eq!(store.acquire(&third, "b").await.claim, ENDED);
    assert_eq!(store.acquire(&numbered(&third, 4), "b").await.claim, ENDED);
    let facts = store.acquire(&third.replay(at(1)), "b").await;
    assert!(matches!(facts.claim, ClaimFact::Taken { takeover: false, .. }), "{:?}", facts.claim);
}

/// "Everything may be lost", and merged again: a merged status settles dispatches as a settlement does.
pub async fn a_merged_status_settles_its_dispatch(store: &Store) {
    let second = numbered(&dispatch(), 2);
    let waits = status(&second, Phase::Waiting);
    store.write(Write::Merge(waits.clone())).await;
    let same = store.acquire(&second, "a").await.claim;
    assert_eq!(same, ClaimFact::Settled(Duplicate { terminal: false, next: waits.next }));
    let third = store.acquire(&numbered(&second, 3), "a").await.claim;
    assert!(matches!(third, ClaimFact::Taken { takeover: false, .. }), "{third:?}");
}

/// "idempotent": of 64 settlements at once under one fence, one is counted, and the status is one of them.
pub async fn one_settlement_of_64_under_one_fence_counts(store: &Store) {
    let wanted = dispatch();
    let fence = store.take(&wanted, "a").await;
    let settlement =
        Settlement { fence: Some(fence), status: status(&wanted, Phase::Waiting), attempt: Some(attempt(&wanted)) };
    at_once(64, |_| {
        let (store, settlement) = (store.clone(), settlement.clone());
        async move { store.write(Write::Settle(settlement)).await }
    })
    .await;
    assert_eq!(store.attempts(&wanted.webhook.id).await, Some(vec![attempt(&wanted)]));
    assert_eq!(store.status(&wanted.webhook.id).await, Some(settlement.status));
}
