//! Endpoints for their owners: decisions, what is held, and the list of unhealthy endpoints (TN-1).

use delivery::ports::endpoints::{EndpointView, SettingView};
use delivery::ports::hot_state::Change;
use domain::{
    Circuit, Cooldown, Dispatch, Endpoint, EndpointHash, EndpointReport, EndpointSetting, Tally, Transition, Waiting,
    Write,
};

use crate::contract::at_once;
use crate::contract::store::Store;
use crate::generate::{
    at, config_id, decision, dispatch, dispatch_of, dispatch_to, endpoint, held, numbered, report,
};
use crate::random::SeededRandom;

async fn view(store: &Store, endpoint: &Endpoint) -> Option<EndpointView> {
    store.endpoints.endpoint(endpoint.hash(), at(0)).await.expect("the store answers")
}

async fn settings(store: &Store, endpoint: &Endpoint) -> Vec<SettingView> {
    view(store, endpoint).await.map(|view| view.settings).unwrap_or_default()
}

async fn unhealthy(store: &Store) -> Vec<EndpointHash> {
    store.endpoints.unhealthy(None, 1000).await.expect("the store answers")
}

async fn held_of(store: &Store, dispatch: &Dispatch, limit: usize) -> Vec<Waiting> {
    let webhook = &dispatch.webhook;
    let list = store.endpoints.held(webhook.endpoint.hash(), &webhook.config_id, limit).await;
    let mut list = list.expect("the store answers");
    list.sort_by(|a, b| a.dispatch.webhook.id.cmp(&b.dispatch.webhook.id));
    list
}

fn unhold(dispatch: &Dispatch, through: u64) -> Write {
    let webhook = &dispatch.webhook;
    Write::Unhold(webhook.endpoint.hash().clone(), webhook.config_id.clone(), webhook.id.clone(), through)
}

fn cooldown_of(endpoint: &Endpoint) -> Write {
    Write::Report(EndpointReport {
        cooldown: Some(Cooldown::new(at(10), at(20))),
        ..report(endpoint, Tally::default())
    })
}

async fn set(store: &Store, endpoint: &Endpoint, circuit: Circuit) {
    let version = store.state_of(endpoint).await.version;
    let transition = Transition { endpoint: endpoint.clone(), version, circuit, cooldown: None };
    let change = store.hot.change(&transition).await.expect("the store takes a change");
    assert!(matches!(change, Change::Made(_)));
}

/// "`None` when nothing is" known, and nothing is held there.
pub async fn nothing_is_known_of_a_fresh_endpoint(store: &Store) {
    let fresh = dispatch();
    assert_eq!(view(store, &fresh.webhook.endpoint).await, None);
    assert_eq!(held_of(store, &fresh, 10).await, []);
    assert_eq!(unhealthy(store).await, []);
}

/// "What is known of one endpoint": its URL, and "its circuit, cooldown and counts".
pub async fn a_view_shows_what_is_known(store: &Store) {
    let target = endpoint();
    let state = store.write(cooldown_of(&target)).await.expect("a state");
    let shown = view(store, &target).await.expect("it is known");
    assert_eq!((shown.hash, shown.url, shown.state), (target.hash().clone(), Some(target.url().to_owned()), state));
    assert_eq!((shown.inflight, shown.settings), (0, Vec::new()));
}

/// A decision "counts" from its time on: the last one wins, whatever the order of writing, and *acquire* reads it.
pub async fn the_last_decision_wins_in_any_order(store: &Store) {
    let random = SeededRandom::new(4);
    for _ in 0..8 {
        let owned = dispatch();
        let states =
            [EndpointSetting::Paused, EndpointSetting::Active, EndpointSetting::Gone, EndpointSetting::Disabled];
        let mut decisions: Vec<_> = (0..).zip(states).map(|(n, state)| decision(&owned, state, at(n))).collect();
        decisions.extend(decisions.clone());
        random.shuffle(&mut decisions);
        for decision in decisions {
            store.write(Write::Decide(decision)).await;
        }
        assert_eq!(store.acquire(&owned, "a").await.setting, EndpointSetting::Disabled);
    }
}

/// Of two decisions at the same moment the same one wins in both orders.
pub async fn decisions_of_one_moment_have_one_winner(store: &Store) {
    let mut winners = Vec::new();
    for states in
        [[EndpointSetting::Active, EndpointSetting::Paused], [EndpointSetting::Paused, EndpointSetting::Active]]
    {
        let owned = dispatch();
        for state in states {
            store.write(Write::Decide(decision(&owned, state, at(1)))).await;
        }
        winners.push(store.acquire(&owned, "a").await.setting);
    }
    assert_eq!(winners[0], winners[1]);
}

/// TN-1: one tenant's decision about a URL does not concern another tenant that sends there.
pub async fn a_decision_is_one_tenants_own(store: &Store) {
    let target = endpoint();
    let (mine, other) = (dispatch_to(&target), dispatch_to(&target));
    store.write(Write::Decide(decision(&mine, EndpointSetting::Paused, at(1)))).await;
    assert_eq!(store.acquire(&mine, "a").await.setting, EndpointSetting::Paused);
    assert_eq!(store.acquire(&other, "a").await.setting, EndpointSetting::Active);
}

/// `EndpointView::settings`: "whose decision is not *active*, or for whom webhooks are held".
pub async fn a_view_shows_the_settings_that_matter(store: &Store) {
    let target = endpoint();
    let (paused, waits) = (dispatch_to(&target), dispatch_to(&target));
    store.write(Write::Decide(decision(&paused, EndpointSetting::Paused, at(1)))).await;
    store.write(Write::Hold(held(&waits, at(2)))).await;
    let mut expected = [(&paused, EndpointSetting::Paused, 0), (&waits, EndpointSetting::Active, 1)]
        .map(|(of, state, held)| SettingView { config_id: of.webhook.config_id.clone(), state, held });
    expected.sort_by(|a, b| a.config_id.cmp(&b.config_id));
    let mut shown = settings(store, &target).await;
    shown.sort_by(|a, b| a.config_id.cmp(&b.config_id));
    assert_eq!(shown, expected);
    store.write(Write::Decide(decision(&paused, EndpointSetting::Active, at(3)))).await;
    store.write(unhold(&waits, 1)).await;
    assert_eq!(settings(store, &target).await, [], "both are back to normal");
}

/// "a webhook stays held until `Write::Unhold`": with every field, once, and counted.
pub async fn a_held_webhook_stays_until_it_is_taken_out(store: &Store) {
    let (config, target) = (config_id(), endpoint());
    let mut all: Vec<_> = (0..5).map(|n| held(&dispatch_of(&config, &target), at(n))).collect();
    all.sort_by(|a, b| a.dispatch.webhook.id.cmp(&b.dispatch.webhook.id));
    for waiting in all.iter().chain(&all) {
        store.write(Write::Hold(waiting.clone())).await;
    }
    assert_eq!(held_of(store, &all[0].dispatch, 10).await, all);
    assert_eq!(held_of(store, &all[0].dispatch, 3).await.len(), 3, "at most as many as asked for");
    assert_eq!(settings(store, &target).await.iter().map(|setting| setting.held).sum::<u64>(), 5);
    store.write(unhold(&all[0].dispatch, 1)).await;
    store.write(unhold(&all[0].dispatch, 1)).await;
    assert_eq!(held_of(store, &all[0].dispatch, 10).await, all[1..]);
}

/// `Write::Hold`: "unless a later dispatch of it is there", and `Write::Unhold`: "up to this dispatch".
pub async fn holding_keeps_the_later_dispatch(store: &Store) {
    let third = held(&numbered(&dispatch(), 3), at(3));
    let earlier = held(&numbered(&third.dispatch, 2), at(2));
    for waiting in [&earlier, &third, &earlier] {
        store.write(Write::Hold(waiting.clone())).await;
    }
    store.write(unhold(&third.dispatch, 2)).await;
    assert_eq!(held_of(store, &third.dispatch, 10).await, std::slice::from_ref(&third));
    store.write(unhold(&third.dispatch, 4)).await;
    assert_eq!(held_of(store, &third.dispatch, 10).await, []);
}

/// TN-1: tenants hold apart, even at one URL.
pub async fn every_tenant_holds_apart(store: &Store) {
    let target = endpoint();
    let (mine, other) = (held(&dispatch_to(&target), at(1)), held(&dispatch_to(&target), at(1)));
    for waiting in [&mine, &other] {
        store.write(Write::Hold(waiting.clone())).await;
    }
    assert_eq!(held_of(store, &mine.dispatch, 10).await, std::slice::from_ref(&mine));
    store.write(unhold(&other.dispatch, 1)).await;
    assert_eq!(held_of(store, &mine.dispatch, 10).await, [mine]);
}

/// "atomic": 64 webhooks that are held at once are all there; 64 that are taken out at once are all gone.
pub async fn of_64_held_at_once_none_is_lost(store: &Store) {
    let (config, target) = (config_id(), endpoint());
    let all: Vec<_> = (0..64).map(|_| dispatch_of(&config, &target)).collect();
    let write_all = |write: fn(&Dispatch) -> Write| {
        let writes: Vec<_> = all.iter().map(write).collect();
        at_once(64, move |number| {
            let (store, write) = (store.clone(), writes.get(number).cloned());
            async move { store.write_all(write.into_iter().collect()).await }
        })
    };
    write_all(|dispatch| Write::Hold(held(dispatch, at(1)))).await;
    assert_eq!(held_of(store, &all[0], 100).await.len(), 64);
    write_all(|dispatch| unhold(dispatch, 1)).await;
    assert_eq!(held_of(store, &all[0], 100).await, []);
    assert_eq!(unhealthy(store).await, []);
}

/// One unhealthy endpoint of every kind: a cooldown, an open circuit, a decision, a held webhook.
async fn four_unhealthy(store: &Store) -> [Dispatch; 4] {
    let all = [dispatch(), dispatch(), dispatch(), dispatch()];
    let [cooling, tripped, paused, waits] = &all;
    store.write(cooldown_of(&cooling.webhook.endpoint)).await;
    set(store, &tripped.webhook.endpoint, Circuit::Open { since: at(0) }).await;
    store.write(Write::Decide(decision(paused, EndpointSetting::Disabled, at(1)))).await;
    store.write(Write::Hold(held(waits, at(1)))).await;
    all
}

/// "The endpoints that are not in their normal state, by hash": one of every kind is listed.
pub async fn every_kind_of_unhealthy_endpoint_is_listed(store: &Store) {
    let listed = four_unhealthy(store).await;
    let mut expected = listed.map(|dispatch| dispatch.webhook.endpoint.hash().clone());
    expected.sort();
    assert_eq!(unhealthy(store).await, expected);
}

/// "Nothing is kept of an endpoint in its normal state": one that is normal again is no longer listed.
pub async fn an_endpoint_back_to_normal_leaves_the_list(store: &Store) {
    let [cooling, tripped, paused, waits] = four_unhealthy(store).await;
    set(store, &cooling.webhook.endpoint, Circuit::default()).await;
    let half_open = Circuit::HalfOpen { successes: 1, probe_until: None };
    set(store, &tripped.webhook.endpoint, half_open).await;
    assert_eq!(unhealthy(store).await.len(), 3, "half-open is not normal yet");
    set(store, &tripped.webhook.endpoint, Circuit::Closed { since: at(9) }).await;
    store.write(Write::Decide(decision(&paused, EndpointSetting::Active, at(2)))).await;
    store.write(unhold(&waits, 1)).await;
    assert_eq!(unhealthy(store).await, []);
}

/// Requests and their tallies alone make no endpoint unhealthy: nothing is written to the list for healthy endpoints.
pub async fn a_busy_endpoint_is_not_unhealthy(store: &Store) {
    let target = endpoint();
    store.write(Write::Report(report(&target, Tally { failures: 3, successes: 9, slow: 1 }))).await;
    store.acquire(&dispatch_to(&target), "a").await;
    assert_eq!(unhealthy(store).await, []);
}

/// "those after `after`, at most `limit`": pages follow each other without a gap or a repeat.
pub async fn the_list_is_read_in_pages(store: &Store) {
    let mut expected = Vec::new();
    for _ in 0..25 {
        let target = endpoint();
        store.write(cooldown_of(&target)).await;
        expected.push(target.hash().clone());
    }
    expected.sort();
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let page = store.endpoints.unhealthy(after.as_ref(), 10).await.expect("the store answers");
        after = page.last().cloned();
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 10);
        pages.extend(page);
        assert!(pages.len() <= 25, "a page does not go on after the one before");
    }
    assert_eq!(pages, expected);
}
