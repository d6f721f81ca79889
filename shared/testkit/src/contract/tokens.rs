//! The slow lane's tokens: a pace per endpoint.

use std::collections::BTreeSet;
use std::time::Duration;

use delivery::ports::hot_state::AcquireRequest;
use domain::{Endpoint, Facts, Pace, Token, Write};

use crate::contract::at_once;
use crate::contract::store::{Store, open};
use crate::generate::{at, dispatch_to, endpoint};

const ONE_A_MINUTE: Pace = Pace { interval: Duration::from_mins(1), burst: Duration::from_secs(1) };

async fn ask(store: &Store, endpoint: &Endpoint, now_ms: u64) -> Facts {
    let dispatch = dispatch_to(endpoint);
    store.hot.acquire(AcquireRequest { now: at(now_ms), pace: Some(ONE_A_MINUTE), ..open(&dispatch, "a") }).await
}

/// `AcquireRequest::pace`: where nothing is paced, nothing is taken.
pub async fn without_a_pace_the_way_is_free(store: &Store) {
    let target = endpoint();
    assert_eq!(store.acquire(&dispatch_to(&target), "a").await.token, Token::Free);
    assert_eq!(ask(store, &target, 0).await.token, Token::Taken);
}

/// P25: at one a minute, two asks at the same moment get one token and one turn a minute later.
pub async fn one_a_minute_is_one_a_minute(store: &Store) {
    let target = endpoint();
    assert_eq!(ask(store, &target, 0).await.token, Token::Taken);
    assert_eq!(ask(store, &target, 0).await.token, Token::Wait(at(60_000)));
    assert!(matches!(ask(store, &target, 58_999).await.token, Token::Wait(_)));
    assert_eq!(ask(store, &target, 60_000).await.token, Token::Taken);
}

/// Atomic: of 64 asks at once one gets the token, the others get turns an interval apart.
pub async fn of_64_at_once_one_gets_the_token(store: &Store) {
    let target = endpoint();
    let tokens = at_once(64, |_| {
        let (store, target) = (store.clone(), target.clone());
        async move { ask(&store, &target, 0).await.token }
    })
    .await;
    let turns: BTreeSet<_> = tokens
        .iter()
        .filter_map(|token| match token {
            Token::Wait(turn) => Some(*turn),
            Token::Taken | Token::Free => None,
        })
        .collect();
    assert_eq!(tokens.iter().filter(|token| **token == Token::Taken).count(), 1);
    assert_eq!(turns, (1..=63).map(|turn| at(60_000 * turn)).collect());
}

/// `Leases::unused_token`: a token that was not used is there for the next one.
pub async fn a_token_given_back_is_there_again(store: &Store) {
    let target = endpoint();
    let dispatch = dispatch_to(&target);
    let request = AcquireRequest { pace: Some(ONE_A_MINUTE), ..open(&dispatch, "a") };
    let facts = store.hot.acquire(request).await;
    assert_eq!(facts.token, Token::Taken);
    store.write(Write::GiveBack(facts.leases(&dispatch, Some(ONE_A_MINUTE)))).await;
    assert_eq!(ask(store, &target, 0).await.token, Token::Taken);
    assert!(matches!(ask(store, &target, 0).await.token, Token::Wait(_)));
}

/// Endpoints do not share a pace.
pub async fn every_endpoint_has_its_own_pace(store: &Store) {
    assert_eq!(ask(store, &endpoint(), 0).await.token, Token::Taken);
    assert_eq!(ask(store, &endpoint(), 0).await.token, Token::Taken);
}
