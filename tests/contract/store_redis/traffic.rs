//! The round trips and commands of the store, and the keys that they leave.

use std::time::Duration;

use delivery::ports::dead_letters::{DeadLetterFilter, DeadLetters};
use delivery::ports::endpoints::Endpoints;
use delivery::ports::hot_state::{AcquireRequest, HotState};
use delivery::ports::recovery::{Epoch, Recovery};
use delivery::ports::schedule::{Lease, Schedule};
use delivery::ports::stats::{Counts, Hour, HourlyStats, Stats};
use delivery::ports::statuses::Statuses;
use domain::{
    Circuit, ClaimFact, ClaimHolder, ClaimRequest, Cooldown, Dispatch, EndpointReport, EndpointSetting, Facts, Fence,
    Pace, Phase, Settlement, Tally, Timestamp, Transition, Write,
};
use futures::future::join_all;
use store_redis::{Login, Traffic};
use testkit::contract::run;
use testkit::generate::{
    at, attempt, config_id, dead_letter_entry, decision, dispatch, dispatch_of, dispatch_to, endpoint, held,
    numbered, report, status, waiting,
};

use super::Instance;

const SUCCESS: Tally = Tally { failures: 0, successes: 1, slow: 0 };
const FAILURE: Tally = Tally { failures: 1, successes: 0, slow: 0 };

pub(super) fn open(dispatch: &Dispatch) -> AcquireRequest<'_> {
    AcquireRequest {
        dispatch,
        claim: ClaimRequest {
            dispatch: dispatch.number,
            replayed_from: dispatch.replayed_from,
            holder: ClaimHolder("a".to_owned()),
            until: at(60_000),
        },
        endpoint_limit: 1000,
        domain_limit: Some(1000),
        pace: None,
        now: at(0),
    }
}

pub(super) fn fence(facts: &Facts) -> Fence {
    let fence = match facts.claim {
        ClaimFact::Taken { fence, .. } => Some(fence),
        ClaimFact::Settled(_) | ClaimFact::Held { .. } | ClaimFact::Unknown => None,
    };
    fence.expect("the claim was free")
}

/// What a delivery writes after its request.
pub(super) fn settled(dispatch: &Dispatch, facts: &Facts, phase: Phase) -> Vec<Write> {
    let tally = if phase == Phase::Delivered { SUCCESS } else { FAILURE };
    let settlement =
        Settlement { fence: Some(fence(facts)), status: status(dispatch, phase), attempt: Some(attempt(dispatch)) };
    vec![
        Write::Settle(settlement),
        Write::Report(report(&dispatch.webhook.endpoint, tally)),
        Write::GiveBack(facts.leases(dispatch, None)),
    ]
}

fn since(before: Traffic, after: Traffic) -> (u64, u64) {
    (after.round_trips - before.round_trips, after.commands - before.commands)
}

/// Runs every script once, so that Redis knows them all.
async fn warm(instance: &Instance) {
    let first = dispatch();
    let facts = instance.store.acquire(open(&first)).await;
    instance.store.apply(settled(&first, &facts, Phase::Waiting)).await.expect("written");
}

/// "Two round trips per attempt", and of a healthy endpoint nothing stays.
#[test]
fn an_attempt_is_two_round_trips_and_leaves_the_webhook_alone() {
    run(async {
        let instance = Instance::new(Login::None).await;
        warm(&instance).await;
        let (before, known) = (instance.store.traffic(), instance.keys().await);
        let first = dispatch();
        let facts = instance.store.acquire(open(&first)).await;
        let state = instance.store.apply(settled(&first, &facts, Phase::Delivered)).await.expect("written");
        assert_eq!(state, None, "nothing is known of the endpoint");
        assert_eq!(
            since(before, instance.store.traffic()),
            (2, 7),
            "round trips, and scripts for three slots each time, and the epoch"
        );
        let new: Vec<_> = instance.keys().await.into_iter().filter(|key| !known.contains(key)).collect();
        assert_eq!(new, [format!("{{wh:{}}}", first.webhook.id)]);
    });
}

/// A retry is two round trips as well, its due entry included.
#[test]
fn a_failed_attempt_is_two_round_trips() {
    run(async {
        let instance = Instance::new(Login::None).await;
        warm(&instance).await;
        let before = instance.store.traffic();
        let first = dispatch();
        let facts = instance.store.acquire(open(&first)).await;
        let mut writes = settled(&first, &facts, Phase::Waiting);
        writes.push(Write::Schedule(waiting(&numbered(&first, 2), at(10_000))));
        let state = instance.store.apply(writes).await.expect("written").expect("a failure is known of");
        assert_eq!(state.buckets.len(), 1);
        let (round_trips, commands) = since(before, instance.store.traffic());
        assert_eq!(round_trips, 2);
        assert!((8..=9).contains(&commands), "{commands}: one more when Redis does not know the script yet");
    });
}

/// W5, W6: five hundred answers of one endpoint at once are five hundred scripts, none of them tried again.
#[test]
fn five_hundred_answers_of_one_endpoint_are_no_conflict() {
    run(async {
        let instance = Instance::new(Login::None).await;
        warm(&instance).await;
        let target = endpoint();
        let before = instance.store.traffic();
        let reports = (0..500).map(|_| instance.store.apply(vec![Write::Report(report(&target, FAILURE))]));
        let states = join_all(reports).await;
        assert_eq!(since(before, instance.store.traffic()), (500, 500));
        let counted = |state: domain::EndpointState| state.buckets.first().map_or(0, |bucket| bucket.tally.failures);
        let most = states.into_iter().map(|state| counted(state.expect("written").expect("a state"))).max();
        assert_eq!(most, Some(500));
    });
}

/// A large rebuild: what shares a slot shares scripts, and everything is sent together.
#[test]
fn an_apply_of_thousands_is_one_round_trip() {
    run(async {
        let instance = Instance::new(Login::None).await;
        let (target, before) = (endpoint(), instance.store.traffic());
        let all: Vec<_> = (0..4000).map(|n| waiting(&dispatch_to(&target), at(n))).collect();
        instance.store.apply(all.into_iter().map(Write::Schedule).collect()).await.expect("written");
        let (round_trips, commands) = since(before, instance.store.traffic());
        assert_eq!(round_trips, 1);
        assert!(commands < 200, "{commands} scripts for 4000 entries");
        assert_eq!(instance.store.depth(at(5000)).await.expect("it answers").waiting, 4000);
    });
}

/// A delivery, with everything that may happen to it.
async fn full_life(instance: &Instance, first: &Dispatch) {
    let (store, target) = (&instance.store, &first.webhook.endpoint);
    let paced = AcquireRequest {
        pace: Some(Pace { interval: Duration::from_millis(50), burst: Duration::from_secs(1) }),
        ..open(first)
    };
    let facts = store.acquire(paced).await;
    let mut writes = settled(first, &facts, Phase::Waiting);
    let second = numbered(first, 2);
    writes.push(Write::Schedule(waiting(&second, at(10))));
    let cooldown = Some(Cooldown::new(at(10), at(20)));
    writes.push(Write::Report(EndpointReport { cooldown, ..report(target, FAILURE) }));
    let state = store.apply(writes).await.expect("written").expect("a state");
    let transition = Transition {
        endpoint: target.clone(),
        version: state.version,
        circuit: Circuit::Open { since: at(1) },
        cooldown: state.cooldown,
    };
    store.change(&transition).await.expect("changed");
    let lease = Lease { token: "t".to_owned(), now: at(10), until: at(100) };
    assert_eq!(Schedule::lease(store.as_ref(), &lease, 10).await.expect("leased").len(), 1);
    store.apply(vec![Write::Hold(held(&second, at(11)))]).await.expect("written");
    store.apply(vec![Write::Decide(decision(first, EndpointSetting::Paused, at(11)))]).await.expect("written");
    let entry = dead_letter_entry(&second, at(12));
    store.apply(vec![Write::Index(entry.clone())]).await.expect("written");
    let hourly = HourlyStats {
        counts: Counts { enqueued: 1, ..Counts::default() },
        endpoints: [target.hash().clone()].into(),
    };
    store.add(Hour(at(0).as_secs() / 3600), &hourly).await.expect("counted");
    let (fence, _) = store.lock(&ClaimHolder("r".to_owned()), at(0), at(10)).await.expect("asked").expect("free");
    let epoch = Epoch { number: 1, completed_at: at(1), replayed: 3, statuses_pending: false };
    assert!(store.complete(fence, &epoch).await.expect("completed"));
    // Another that is under way.
    store.acquire(open(&dispatch_to(target))).await;
}

/// "Nothing reads or writes a key that is not in design.md": the keys of a full life, each once.
#[test]
fn only_documented_keys_exist_after_a_full_life() {
    run(async {
        let instance = Instance::new(Login::None).await;
        let first = dispatch();
        full_life(&instance, &first).await;
        let webhook = &first.webhook;
        let shown = |key: &String| {
            let key = key.replace(webhook.endpoint.hash().as_str(), "<hash>").replace(webhook.id.as_str(), "<id>");
            key.replace(webhook.config_id.as_str(), "<config_id>").replace(webhook.endpoint.domain(), "<host>")
        };
        let mut keys: Vec<_> = instance.keys().await.iter().map(shown).collect();
        keys.retain(|key| !key.starts_with("{wh:wh_"));
        keys.iter_mut().filter(|key| key.starts_with("{due:")).for_each(|key| key.replace_range(5..7, "NN"));
        for key in &mut keys {
            *key = key.replace("2026010100", "<YYYYMMDDHH>");
        }
        let documented = store_redis::keys::DOCUMENTED;
        let ours = documented.iter().filter(|(_, what)| !what.starts_with("not the store's"));
        let mut expected: Vec<_> = ours.map(|(key, _)| (*key).to_owned()).collect();
        expected.sort();
        keys.sort();
        assert_eq!(keys, expected);
    });
}

/// TTL is garbage collection: whatever is not waiting has one, what waits has none.
#[test]
fn only_what_waits_has_no_time_to_live() {
    run(async {
        let instance = Instance::new(Login::None).await;
        let first = dispatch();
        full_life(&instance, &first).await;
        let for_ever = ["{due:", "{system}", "endpoints:unhealthy", "dead:configs"];
        for key in instance.keys().await {
            let ttl: i64 = instance.ask(&["PTTL", &format!("{}{key}", instance.prefix)]).await;
            let waits = for_ever.iter().any(|start| key.starts_with(start))
                || (key.starts_with("{ep:") && !key.ends_with(":inflight"));
            assert_eq!(ttl == -1, waits, "{key} has {ttl} ms to live");
        }
        let webhook = &first.webhook;
        let (hash, config) = (webhook.endpoint.hash().clone(), webhook.config_id.clone());
        let unhold = Write::Unhold(hash, config, webhook.id.clone(), 9);
        instance.store.apply(vec![unhold]).await.expect("written");
        instance
            .store
            .apply(vec![Write::Decide(decision(&first, EndpointSetting::Active, at(12)))])
            .await
            .expect("written");
        for key in instance.keys().await.iter().filter(|key| key.starts_with("{ep:")) {
            let ttl: i64 = instance.ask(&["PTTL", &format!("{}{key}", instance.prefix)]).await;
            assert!(ttl > 0, "{key} stays for ever though nothing waits");
        }
    });
}

/// RT-1: while a cooldown holds nothing is reported, so the key must outlive it by itself, whichever write came last.
#[test]
fn a_cooldown_is_kept_until_its_window_ends() {
    run(async {
        let instance = Instance::new(Login::None).await;
        let (first, time) = (dispatch(), instance.ask::<Vec<u64>>(&["TIME"]).await);
        let (target, now) = (&first.webhook.endpoint, time[0] * 1000);
        let day_ms = 24 * 3600 * 1000;
        let cooldown = Cooldown::new(Timestamp::from_ms(now + 2 * day_ms), Timestamp::from_ms(now + 3 * day_ms));
        let key = format!("{}{{ep:{}}}", instance.prefix, target.hash());
        let kept = async |by: &str, least: u64| {
            let ttl: u64 = instance.ask(&["PTTL", &key]).await;
            assert!(ttl > least && ttl <= least + day_ms, "{ttl} ms after {by}");
        };
        let apply = async |write: Write| instance.store.apply(vec![write]).await.expect("written");
        let cooling = EndpointReport { cooldown: Some(cooldown), ..report(target, FAILURE) };
        let state = apply(Write::Report(cooling)).await.expect("a state");
        kept("a cooldown", 2 * day_ms).await;
        apply(Write::Report(report(target, FAILURE))).await;
        kept("another report", 2 * day_ms).await;
        for (n, setting) in [EndpointSetting::Paused, EndpointSetting::Active].into_iter().enumerate() {
            apply(Write::Decide(decision(&first, setting, at(u64::try_from(n).expect("small"))))).await;
        }
        kept("a decision", 2 * day_ms).await;
        apply(Write::Hold(held(&first, at(2)))).await;
        let webhook = &first.webhook;
        let (hash, config) = (target.hash().clone(), webhook.config_id.clone());
        apply(Write::Unhold(hash, config, webhook.id.clone(), 9)).await;
        kept("what was held", 2 * day_ms).await;
        for (cooldown, least) in [(Some(cooldown), 2 * day_ms), (None, 0)] {
            let version = apply(Write::Report(report(target, FAILURE))).await.expect("a state").version;
            let transition = Transition { endpoint: target.clone(), version, circuit: state.circuit, cooldown };
            instance.store.change(&transition).await.expect("changed");
            kept("a change", least).await;
        }
    });
}

/// The status of a held webhook stays however long it is held, and an index of dead letters does not grow for ever.
#[test]
fn what_is_kept_follows_from_what_waits() {
    run(async {
        let instance = Instance::new(Login::None).await;
        let first = dispatch();
        let key = format!("{}{{wh:{}}}", instance.prefix, first.webhook.id);
        instance.store.apply(vec![Write::Merge(status(&first, Phase::Held))]).await.expect("written");
        assert_eq!(instance.ask::<i64>(&["PTTL", &key]).await, -1);
        instance.store.apply(vec![Write::Merge(status(&numbered(&first, 2), Phase::Dead))]).await.expect("written");
        assert!(instance.ask::<i64>(&["PTTL", &key]).await > 0);
        let week_ms = 7 * 24 * 3600 * 1000;
        let config = config_id();
        let dead = |ms| dead_letter_entry(&dispatch_of(&config, &endpoint()), at(ms));
        let entries = [dead(0), dead(1), dead(week_ms + 1)];
        instance.store.apply(entries.iter().cloned().map(Write::Index).collect()).await.expect("written");
        let listed = instance.store.list(&DeadLetterFilter::default(), None, 9).await.expect("it answers");
        assert_eq!(listed, entries[1..]);
        assert_eq!(instance.store.find(&entries[0].id).await.expect("it answers"), None);
    });
}

/// The listing corrects itself: an endpoint whose state was lost is not listed, and is listed when it is unhealthy again.
#[test]
fn the_listing_has_exactly_the_unhealthy_endpoints() {
    run(async {
        let instance = Instance::new(Login::None).await;
        let target = endpoint();
        let cooling =
            EndpointReport { cooldown: Some(Cooldown::new(at(10), at(20))), ..report(&target, Tally::default()) };
        instance.store.apply(vec![Write::Report(cooling.clone())]).await.expect("written");
        assert_eq!(instance.store.unhealthy(None, 10).await.expect("it answers"), [target.hash().clone()]);
        let _: u64 = instance.ask(&["DEL", &format!("{}{{ep:{}}}", instance.prefix, target.hash())]).await;
        assert_eq!(instance.store.unhealthy(None, 10).await.expect("it answers"), []);
        instance.store.apply(vec![Write::Report(cooling.clone())]).await.expect("written");
        let _: u64 = instance.ask(&["DEL", &format!("{}endpoints:unhealthy", instance.prefix)]).await;
        instance.store.apply(vec![Write::Report(cooling)]).await.expect("written");
        assert_eq!(instance.store.unhealthy(None, 10).await.expect("it answers"), [target.hash().clone()]);
    });
}

/// A webhook whose dead letter is found by its id alone is not known as a webhook by that.
#[test]
fn a_dead_letter_alone_is_no_status() {
    run(async {
        let instance = Instance::new(Login::None).await;
        let first = dispatch();
        let entry = dead_letter_entry(&first, at(1));
        instance.store.apply(vec![Write::Index(entry.clone())]).await.expect("written");
        assert_eq!(instance.store.find(&first.webhook.id).await.expect("it answers"), Some(entry));
        assert_eq!(instance.store.attempts(&first.webhook.id).await.expect("it answers"), None);
    });
}
