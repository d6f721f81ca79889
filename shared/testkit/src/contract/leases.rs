//! In-flight leases: per endpoint and per domain, with expiries (LN-1).

use delivery::ports::hot_state::AcquireRequest;
use domain::{Dispatch, Endpoint, Facts, LeaseFact, Write};

use crate::contract::at_once;
use crate::contract::store::{Store, claim, open};
use crate::generate::{at, dispatch_to, domain_name, endpoint, endpoint_on, numbered};

async fn inflight(store: &Store, endpoint: &Endpoint, now_ms: u64) -> u64 {
    let view = store.endpoints.endpoint(endpoint.hash(), at(now_ms)).await.expect("the store answers");
    view.map_or(0, |view| view.inflight)
}

async fn release(store: &Store, dispatch: &Dispatch, facts: &Facts) {
    store.write(Write::GiveBack(facts.leases(dispatch, None))).await;
}

async fn enter(store: &Store, endpoint: &Endpoint, limit: u32) -> (Dispatch, Facts) {
    let dispatch = dispatch_to(endpoint);
    let facts = store.hot.acquire(AcquireRequest { endpoint_limit: limit, ..open(&dispatch, "a") }).await;
    (dispatch, facts)
}

async fn enter_domain(store: &Store, endpoint: &Endpoint, limit: Option<u32>) -> (Dispatch, Facts) {
    let dispatch = dispatch_to(endpoint);
    let facts = store.hot.acquire(AcquireRequest { domain_limit: limit, ..open(&dispatch, "a") }).await;
    (dispatch, facts)
}

/// LN-1: of 64 dispatches that enter an endpoint at once, exactly the limit's number gets a lease.
pub async fn of_64_at_once_eight_enter_an_endpoint_of_eight(store: &Store) {
    let target = endpoint();
    let entered = at_once(64, |_| {
        let (store, target) = (store.clone(), target.clone());
        async move { enter(&store, &target, 8).await.1.on_endpoint }
    })
    .await;
    let count = |wanted| entered.iter().filter(|fact| **fact == wanted).count();
    assert_eq!((count(LeaseFact::Taken), count(LeaseFact::Full)), (8, 56));
    assert_eq!(inflight(store, &target, 0).await, 8);
}

/// "A lease that the same holder has already for the same dispatch is renewed, not taken twice", 64 times at once
/// included.
pub async fn the_same_holder_takes_one_lease(store: &Store) {
    let dispatch = dispatch_to(&endpoint());
    let entered =
        at_once(64, |_| {
            let (store, dispatch) = (store.clone(), dispatch.clone());
            async move {
                store.hot.acquire(AcquireRequest { endpoint_limit: 1, ..open(&dispatch, "a") }).await.on_endpoint
            }
        })
        .await;
    assert!(entered.iter().all(|fact| *fact == LeaseFact::Taken), "{entered:?}");
    assert_eq!(inflight(store, &dispatch.webhook.endpoint, 0).await, 1);
}

/// `lease_holder`: "a rival for the same dispatch has another one, so that it cannot give back what is not its own".
pub async fn a_rival_takes_and_gives_back_its_own_lease(store: &Store) {
    let target = endpoint();
    let (wanted, _) = enter(store, &target, 2).await;
    let rival = store.hot.acquire(AcquireRequest { endpoint_limit: 2, ..open(&wanted, "rival") }).await;
    assert_eq!((rival.on_endpoint, inflight(store, &target, 0).await), (LeaseFact::Taken, 2));
    release(store, &wanted, &rival).await;
    assert_eq!(inflight(store, &target, 0).await, 1, "the holder's lease stays");
}

/// "renewed": the lease ends with the claim that renewed it.
pub async fn a_renewed_lease_lives_longer(store: &Store) {
    let target = endpoint();
    let (holder, _) = enter(store, &target, 1).await;
    let renewal = AcquireRequest {
        endpoint_limit: 1,
        now: at(30_000),
        claim: claim(&holder, "a", at(90_000)),
        ..open(&holder, "a")
    };
    assert_eq!(store.hot.acquire(renewal).await.on_endpoint, LeaseFact::Taken);
    let other = dispatch_to(&target);
    let asks = |now| AcquireRequest { endpoint_limit: 1, now: at(now), ..open(&other, "b") };
    assert_eq!(store.hot.acquire(asks(89_999)).await.on_endpoint, LeaseFact::Full);
    assert_eq!(inflight(store, &target, 89_999).await, 1);
    assert_eq!(inflight(store, &target, 90_000).await, 0);
}

/// `AcquireRequest::claim`: "the leases end with it": a crashed holder's lease is free at its expiry, by `now` alone.
pub async fn an_expired_lease_is_free(store: &Store) {
    let target = endpoint();
    enter(store, &target, 1).await;
    let other = dispatch_to(&target);
    let asks = |now| {
        let claim = claim(&other, "b", at(120_000));
        AcquireRequest { endpoint_limit: 1, now: at(now), claim, ..open(&other, "b") }
    };
    assert_eq!(store.hot.acquire(asks(59_999)).await.on_endpoint, LeaseFact::Full);
    assert_eq!(store.hot.acquire(asks(60_000)).await.on_endpoint, LeaseFact::Taken);
    assert_eq!(inflight(store, &target, 60_000).await, 1);
}

/// `Write::GiveBack`: "Gives leases back", idempotently, and only those of the holder; at rest there are none (LN-1).
pub async fn a_lease_given_back_is_free_once(store: &Store) {
    let target = endpoint();
    let (first, facts) = enter(store, &target, 2).await;
    let (second, second_facts) = enter(store, &target, 2).await;
    assert_eq!(enter(store, &target, 2).await.1.on_endpoint, LeaseFact::Full);
    release(store, &first, &facts).await;
    release(store, &first, &facts).await;
    assert_eq!(inflight(store, &target, 0).await, 1, "the second lease stays");
    release(store, &second, &second_facts).await;
    assert_eq!(inflight(store, &target, 0).await, 0);
}

/// `Leases::on_endpoint`: what was not held is not given back.
pub async fn a_refused_dispatch_leaves_the_leases_of_others(store: &Store) {
    let target = endpoint();
    enter(store, &target, 1).await;
    let (refused, facts) = enter(store, &target, 1).await;
    assert_eq!(facts.on_endpoint, LeaseFact::Full);
    release(store, &refused, &facts).await;
    assert_eq!(enter(store, &target, 1).await.1.on_endpoint, LeaseFact::Full);
}

/// `lease_holder`: another dispatch of the same webhook holds a lease of its own.
pub async fn each_dispatch_holds_its_own_lease(store: &Store) {
    let target = endpoint();
    let (first, facts) = enter(store, &target, 2).await;
    let second = numbered(&first, 2);
    let entered = store.hot.acquire(AcquireRequest { endpoint_limit: 2, ..open(&second, "a") }).await;
    assert_eq!(entered.on_endpoint, LeaseFact::Taken);
    release(store, &first, &facts).await;
    assert_eq!(inflight(store, &target, 0).await, 1);
}

/// Endpoints do not share a limit, even on one domain.
pub async fn endpoints_of_one_domain_have_their_own_limits(store: &Store) {
    let host = domain_name();
    enter(store, &endpoint_on(&host), 1).await;
    assert_eq!(enter(store, &endpoint_on(&host), 1).await.1.on_endpoint, LeaseFact::Taken);
}

/// LN-1 for a domain: of 64 dispatches to 64 endpoints of it at once, exactly the limit's number gets a lease.
pub async fn of_64_at_once_five_enter_a_domain_of_five(store: &Store) {
    let host = domain_name();
    let entered = at_once(64, |_| {
        let (store, target) = (store.clone(), endpoint_on(&host));
        async move { enter_domain(&store, &target, Some(5)).await.1.on_domain }
    })
    .await;
    let count = |wanted| entered.iter().filter(|fact| **fact == wanted).count();
    assert_eq!((count(LeaseFact::Taken), count(LeaseFact::Full)), (5, 59));
}

/// A domain's leases are renewed, given back and freed by `now` as an endpoint's are.
pub async fn domain_leases_are_renewed_given_back_and_expire(store: &Store) {
    let target = endpoint_on(&domain_name());
    let (first, facts) = enter_domain(store, &target, Some(1)).await;
    let again = store.hot.acquire(AcquireRequest { domain_limit: Some(1), ..open(&first, "a") }).await;
    assert_eq!(again.on_domain, LeaseFact::Taken, "renewed");
    assert_eq!(enter_domain(store, &target, Some(1)).await.1.on_domain, LeaseFact::Full);
    release(store, &first, &facts).await;
    let (second, facts) = enter_domain(store, &target, Some(1)).await;
    assert_eq!(facts.on_domain, LeaseFact::Taken, "given back: {second:?}");
    let third = dispatch_to(&target);
    let late = AcquireRequest { domain_limit: Some(1), now: at(60_000), ..open(&third, "b") };
    assert_eq!(store.hot.acquire(late).await.on_domain, LeaseFact::Taken, "expired");
}

/// "`None`" is no limit: nothing is taken, so nothing is given back.
pub async fn without_a_domain_limit_there_is_no_lease(store: &Store) {
    let target = endpoint_on(&domain_name());
    assert_eq!(enter_domain(store, &target, None).await.1.on_domain, LeaseFact::Unlimited);
    assert_eq!(enter_domain(store, &target, Some(1)).await.1.on_domain, LeaseFact::Taken);
}
