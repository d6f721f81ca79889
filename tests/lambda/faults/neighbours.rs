//! What endpoints that are dead or hang cost other endpoints, as ratios: the same run measures with these endpoints
//! dead or hanging, and with the same ones healthy, so that their load alone makes no difference. A busy machine makes
//! the ratios larger; the asserted bounds are far above them, near the values without isolation. `HOWK_LAMBDA_ROUNDS`
//! measures more often.

use std::collections::BTreeMap;
use std::time::Duration;

use clock_system::SystemClock;
use delivery::ports::time::Clock;
use domain::{Timestamp, WebhookId};
use howk_tests::rig::load::{Accepted, Planned};
use howk_tests::rig::pair::{number, say};
use howk_tests::rig::receiver::Behaviour;
use howk_tests::rig::servers::FAST_TIMEOUT;
use serde_json::{Value, json};

use super::scene::{Scene, quick};

/// Webhooks to healthy endpoints, and the time between two of them.
const COUNT: usize = 80;
const APART: Duration = Duration::from_millis(40);
/// The pause before a refused call is repeated.
const PAUSE: Duration = Duration::from_millis(100);
/// Healthy endpoints. Each belongs to a tenant of its own.
const ENDPOINTS: usize = 38;
/// Endpoints that hang: 2 of 40 are 5 %.
const HANGING: usize = 2;

/// One series of measurements.
#[derive(Debug, Default)]
struct Measured {
    /// From acceptance to the request, of webhooks to healthy endpoints, in ms.
    latencies: Vec<u64>,
    invocations: u64,
    busy_ms: u64,
}

impl Measured {
    /// The latency that this share of a thousand is below.
    fn latency(&self, per_mille: usize) -> u64 {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        sorted[(sorted.len() - 1) * per_mille / 1000]
    }

    fn mean_invocation_ms(&self) -> u64 {
        self.busy_ms / self.invocations.max(1)
    }
}

/// `with` in per cent of `without`.
const fn per_cent(with: u64, without: u64) -> u64 {
    100 * with / if without == 0 { 1 } else { without }
}

/// Posts until it is accepted, and returns when that was.
async fn post(scene: &Scene, tenant: &str, url: &str) -> (WebhookId, Timestamp) {
    let body = json!({ "endpoint": url, "payload": 1 }).to_string();
    let url = format!("{}/webhooks/{tenant}/enqueue", scene.functions.stack.url);
    loop {
        let answer = scene.stage.client.post(&url).body(body.clone()).send().await.unwrap();
        let (status, at) = (answer.status(), SystemClock.now());
        let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        if status == 202 {
            return (WebhookId::parse(answer["webhook_id"].as_str().unwrap()).unwrap(), at);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Posts to the healthy endpoints at an even rate, and with every `every`th call also to another endpoint with this
/// behaviour; waits until the webhooks to healthy endpoints are delivered.
async fn series(scene: &mut Scene, (behaviour, every): (Behaviour, usize), measured: &mut Measured) {
    let before = scene.functions.stack.lambda().state_of("fast-lane").unwrap();
    let calls = (0..COUNT).map(|number| {
        let scene = &*scene;
        async move {
            tokio::time::sleep(APART * u32::try_from(number).unwrap()).await;
            if number.is_multiple_of(every) {
                let url = scene.stage.receiver.url(behaviour, ENDPOINTS + number / every % HANGING);
                post(scene, "other", &url).await;
            }
            let endpoint = number % ENDPOINTS;
            let url = scene.stage.receiver.url(Behaviour::Takes, endpoint);
            post(scene, &format!("well-{endpoint}"), &url).await
        }
    });
    let called: BTreeMap<WebhookId, Timestamp> = futures::future::join_all(calls).await.into_iter().collect();
    let planned = Planned::delivered(Behaviour::Takes);
    let accepted: Vec<_> = called.keys().map(|id| Accepted { id: id.clone(), planned: planned.clone() }).collect();
    scene.stage.wait_for_the_end(&accepted).await;
    let after = scene.functions.stack.lambda().state_of("fast-lane").unwrap();
    measured.invocations += after.invocations - before.invocations;
    measured.busy_ms += after.busy_ms - before.busy_ms;
    for (id, at) in called {
        let entry = &scene.stage.ledger.entries[&id];
        assert!(entry.delivered.is_some(), "{id}: {entry:?}");
        measured.latencies.push(entry.attempts[0].at.since(at).as_millis().try_into().unwrap());
    }
}

/// Compares rounds in which the other endpoints are healthy with rounds in which they have this behaviour.
async fn compare(name: &str, behaviour: Behaviour, every: usize) {
    // Six times the fast lane's timeout, as by default.
    let setup = quick(name).with("HOWK_CIRCUIT_BREAKER_RECOVERY_TIMEOUT", "3600ms");
    let mut scene = Scene::with(setup, |_, _| {}).await;
    let (mut without, mut with) = (Measured::default(), Measured::default());
    // Every function is warm then.
    series(&mut scene, (Behaviour::Takes, every), &mut Measured::default()).await;
    for _ in 0..number("HOWK_LAMBDA_ROUNDS", 1) {
        series(&mut scene, (Behaviour::Takes, every), &mut without).await;
        series(&mut scene, (behaviour, every), &mut with).await;
    }
    let latency = |per_mille| (with.latency(per_mille), without.latency(per_mille));
    let ((median, median_alone), (p99, p99_alone)) = (latency(500), latency(990));
    let (invocation, invocation_alone) = (with.mean_invocation_ms(), without.mean_invocation_ms());
    say(&format!(
        "{name}: with them / without: p99 {p99} / {p99_alone} ms = {} %, median {median} / {median_alone} ms = {} %, mean \
         invocation of the fast lane {invocation} / {invocation_alone} ms = {} % ({} / {} invocations)",
        per_cent(p99, p99_alone),
        per_cent(median, median_alone),
        per_cent(invocation, invocation_alone),
        with.invocations,
        without.invocations,
    ));
    // A webhook that waits behind a hanging request waits for the fast lane's timeout.
    let isolated = u64::try_from(FAST_TIMEOUT.as_millis()).unwrap() / 2;
    assert!(median < isolated, "most of the others wait behind what does not work: {median} ms");
    assert!(invocation < isolated, "the fast lane's invocations wait for what does not work: {invocation} ms");
    scene.end().await;
}

/// TN-1: one tenant whose endpoints are dead posts half as much as all others together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tn_1_what_a_dead_tenant_costs_the_others() {
    compare("dead", Behaviour::Down, 2).await;
}

/// 5 % of the endpoints hang: they are moved to the slow lane.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_endpoints_that_hang_cost_the_fast_lane() {
    compare("hang", Behaviour::Hangs, 20).await;
}
