//! The state of an endpoint: tallies that commute, cooldowns that merge, and changes by compare-and-set (CB-1).

use std::time::Duration;

use delivery::ports::hot_state::Change;
use domain::{
    Circuit, Cooldown, Endpoint, EndpointReport, EndpointState, Tally, Timestamp, Transition, Write, recent,
};

use crate::contract::at_once;
use crate::contract::store::Store;
use crate::generate::{at, endpoint, report};
use crate::random::SeededRandom;

const FAILURE: Tally = Tally { failures: 1, successes: 0, slow: 0 };
const WINDOW: Duration = Duration::from_mins(1);

fn opening(endpoint: &Endpoint, state: &EndpointState, since: Timestamp) -> Transition {
    let circuit = Circuit::Open { since };
    Transition { endpoint: endpoint.clone(), version: state.version, circuit, cooldown: state.cooldown }
}

fn cooling(endpoint: &Endpoint, cooldown: Cooldown) -> Write {
    Write::Report(EndpointReport { cooldown: Some(cooldown), ..report(endpoint, Tally::default()) })
}

async fn change(store: &Store, transition: &Transition) -> Change {
    store.hot.change(transition).await.expect("the store takes a change")
}

fn counted(state: &EndpointState) -> Tally {
    recent(&state.buckets, WINDOW, Timestamp::EPOCH, at(0))
}

/// An endpoint that nothing is known of is in its normal state, and nothing was counted.
pub async fn a_fresh_endpoint_is_normal(store: &Store) {
    let state = store.state_of(&endpoint()).await;
    assert!(state.is_normal() && state.buckets.is_empty(), "{state:?}");
}

/// "Counts an outcome": 500 at the same moment are all counted, exactly, and none of them is a change of state.
pub async fn of_500_reports_at_once_none_is_lost(store: &Store) {
    let target = endpoint();
    let before = store.state_of(&target).await;
    at_once(500, |number| {
        let (store, target) = (store.clone(), target.clone());
        let tally = if number % 5 == 0 { Tally { slow: 2, successes: 1, failures: 0 } } else { FAILURE };
        async move { store.write(Write::Report(report(&target, tally))).await }
    })
    .await;
    let state = store.state_of(&target).await;
    assert_eq!(counted(&state), Tally { failures: 400, successes: 100, slow: 200 });
    assert_eq!(state.version, before.version, "counting changes neither circuit nor cooldown");
}

/// "returns the endpoint's state after a `Write::Report`, if there was one".
pub async fn a_report_tells_the_state_after_it(store: &Store) {
    let target = endpoint();
    let state = store.write(Write::Report(report(&target, FAILURE))).await.expect("a state");
    assert_eq!(counted(&state), FAILURE);
    assert_eq!(state, store.state_of(&target).await);
    let dispatch = crate::generate::dispatch_to(&target);
    let facts = store.acquire(&dispatch, "a").await;
    assert_eq!(store.write(Write::GiveBack(facts.leases(&dispatch, None))).await, None, "there was no report");
}

/// Buckets stay apart, and those since `keep_since` stay.
pub async fn every_bucket_counts_on_its_own(store: &Store) {
    let target = endpoint();
    for bucket in [at(0), at(10_000), at(10_000), at(20_000)] {
        let keep_since = at(10_000);
        store.write(Write::Report(EndpointReport { bucket, keep_since, ..report(&target, FAILURE) })).await;
    }
    let state = store.state_of(&target).await;
    let of =
        |start| state.buckets.iter().filter(|bucket| bucket.start == start).map(|b| b.tally.failures).sum::<u32>();
    assert_eq!((of(at(10_000)), of(at(20_000))), (2, 1), "{:?}", state.buckets);
}

/// `EndpointReport::cooldown`: "the longer one of two stays", in whatever order they come (`Cooldown::merge`).
pub async fn cooldowns_merge_in_any_order(store: &Store) {
    let random = SeededRandom::new(11);
    let mut cooldowns: Vec<_> =
        (0..12).map(|_| Cooldown::new(at(random.below(4) * 1000), at(60_000 + random.below(4) * 1000))).collect();
    let longest = cooldowns.iter().copied().reduce(Cooldown::merge);
    for _ in 0..8 {
        let target = endpoint();
        random.shuffle(&mut cooldowns);
        for cooldown in &cooldowns {
            store.write(cooling(&target, *cooldown)).await;
        }
        assert_eq!(store.state_of(&target).await.cooldown, longest);
    }
}

/// "atomic on its own": 64 cooldowns at once leave the longest.
pub async fn of_64_cooldowns_at_once_the_longest_stays(store: &Store) {
    let target = endpoint();
    at_once(64, |number| {
        let (store, target) = (store.clone(), target.clone());
        let ends_at = at(u64::try_from(number * 37 % 64).unwrap_or_default());
        async move { store.write(cooling(&target, Cooldown::new(ends_at, ends_at.plus(WINDOW)))).await }
    })
    .await;
    let cooldown = store.state_of(&target).await.cooldown;
    assert_eq!(cooldown, Some(Cooldown::new(at(63), at(63).plus(WINDOW))));
}

/// `EndpointState::version`: "Counts up with every change of circuit or cooldown", a merged cooldown included, a repeat not.
pub async fn the_version_counts_changes_of_the_cooldown(store: &Store) {
    let target = endpoint();
    let fresh = store.state_of(&target).await;
    let cooldown = Cooldown::new(at(1000), at(2000));
    let cooling_state = store.write(cooling(&target, cooldown)).await.expect("a state");
    assert!(cooling_state.version > fresh.version);
    let again = store.write(cooling(&target, cooldown)).await.expect("a state");
    let shorter = store.write(cooling(&target, Cooldown::new(at(500), at(600)))).await.expect("a state");
    assert_eq!((again.version, shorter.version), (cooling_state.version, cooling_state.version));
    let stale = opening(&target, &fresh, at(0));
    assert_eq!(change(store, &stale).await, Change::Lost(cooling_state));
}

/// "Changes an endpoint's circuit and cooldown if its version is still the transition's".
pub async fn a_change_is_made_on_the_version_it_was_decided_on(store: &Store) {
    let target = endpoint();
    store.write(Write::Report(report(&target, FAILURE))).await;
    let seen = store.state_of(&target).await;
    let cooldown = Some(Cooldown { probe_until: Some(at(9)), confirmed: true, ..Cooldown::new(at(5), at(7)) });
    let transition = Transition { cooldown, ..opening(&target, &seen, at(3)) };
    let Change::Made(made) = change(store, &transition).await else { panic!("no other change was made") };
    assert!(made.version > seen.version);
    assert_eq!((made.circuit, made.cooldown), (transition.circuit, cooldown));
    assert_eq!(counted(&made), FAILURE, "what was counted stays");
    assert_eq!(store.state_of(&target).await, made);
}

/// Every state of a circuit is kept as it is, and a cooldown can be taken away.
pub async fn every_state_of_a_circuit_is_kept(store: &Store) {
    let target = endpoint();
    let half_open = |successes, probe_until| Circuit::HalfOpen { successes, probe_until };
    let states = [
        (Circuit::Open { since: at(1) }, Some(Cooldown::new(at(1), at(2)))),
        (half_open(0, Some(at(2))), None),
        (half_open(1, None), Some(Cooldown { probe_until: Some(at(4)), ..Cooldown::new(at(1), at(2)) })),
        (Circuit::Closed { since: at(3) }, None),
    ];
    for (circuit, cooldown) in states {
        let version = store.state_of(&target).await.version;
        change(store, &Transition { endpoint: target.clone(), version, circuit, cooldown }).await;
        let state = store.state_of(&target).await;
        assert_eq!((state.circuit, state.cooldown), (circuit, cooldown));
    }
}

/// "Another change was faster; the state as it is now": of 64 changes at once one is made.
pub async fn of_64_changes_at_once_one_is_made(store: &Store) {
    let target = endpoint();
    let seen = store.state_of(&target).await;
    let changes = at_once(64, |number| {
        let since = at(u64::try_from(number).unwrap_or_default());
        let (store, transition) = (store.clone(), opening(&target, &seen, since));
        async move { change(&store, &transition).await }
    })
    .await;
    let now = store.state_of(&target).await;
    let made: Vec<_> = changes.iter().filter(|change| matches!(change, Change::Made(_))).collect();
    assert_eq!(made, [&Change::Made(now.clone())]);
    assert_eq!(changes.iter().filter(|change| **change == Change::Lost(now.clone())).count(), 63);
}

/// Counting does not spoil a change that is under way: five hundred failures at once cost no retry storm.
pub async fn reports_do_not_make_a_change_lose(store: &Store) {
    let target = endpoint();
    let seen = store.state_of(&target).await;
    store.write(Write::Report(report(&target, FAILURE))).await;
    assert!(matches!(change(store, &opening(&target, &seen, at(0))).await, Change::Made(_)));
}
