//! Why a webhook waits or was given up, as its status and the listing of dead letters show it, before and after the hot
//! state is lost.

use std::time::Duration;

use domain::{ConfigId, Endpoint, EndpointSetting, WebhookId};
use howk_tests::endpoint::Reply;
use howk_tests::world::{World, settings, webhook};
use serde_json::Value;

use crate::handler::{ask, event};

const FAILING: &str = "https://failing.example/hook";
const BROKEN: &str = "https://broken.example/hook";
const RESTING: &str = "https://resting.example/hook";
const PAUSED: &str = "https://paused.example/hook";
const DISABLED: &str = "https://disabled.example/hook";
const MISSING: &str = "https://missing.example/hook";

fn get(world: &mut World, path: &str) -> Value {
    let (status, body) = ask(world, &event("GET", path, &serde_json::json!({}), None));
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

fn status(world: &mut World, id: &WebhookId) -> Value {
    get(world, &format!("/webhooks/{id}/status"))
}

fn enqueue(world: &mut World, url: &str) -> WebhookId {
    let id = world.enqueue(vec![webhook("tenant", url)]).remove(0);
    world.pass(Duration::from_secs(1));
    id
}

fn decide(world: &mut World, url: &str, state: EndpointSetting) {
    let (service, hash) = (world.endpoint_service(), Endpoint::parse(url).unwrap().hash().clone());
    let config = ConfigId::parse("tenant").unwrap();
    world.run(async move { service.decide(&hash, &config, state).await }).unwrap();
}

/// A world with one webhook for each reason, in the order of the expectations.
fn scene() -> (World, Vec<(WebhookId, Expected)>) {
    let mut world = World::new(1, settings());
    world.endpoints.behave(|url, _, _| match url {
        FAILING | BROKEN => Reply::status(503, 5),
        RESTING => Reply::retry_after(429, 600),
        MISSING => Reply::status(404, 5),
        _ => Reply::status(200, 5),
    });
    world.start();
    decide(&mut world, PAUSED, EndpointSetting::Paused);
    decide(&mut world, DISABLED, EndpointSetting::Disabled);
    // Five failures open the circuit.
    (0..5).for_each(|_| drop(enqueue(&mut world, BROKEN)));
    let behind_circuit = enqueue(&mut world, BROKEN);
    drop(enqueue(&mut world, RESTING));
    let in_cooldown = enqueue(&mut world, RESTING);
    let expected = vec![
        (enqueue(&mut world, FAILING), Expected::waits("failed", "backoff")),
        (behind_circuit, Expected::waits("pending", "circuit")),
        (in_cooldown, Expected::waits("pending", "cooldown")),
        (enqueue(&mut world, PAUSED), Expected::held("paused")),
        (enqueue(&mut world, DISABLED), Expected::held("disabled")),
        (enqueue(&mut world, MISSING), Expected { reason_type: Some("unrecoverable"), ..Expected::of("exhausted") }),
    ];
    (world, expected)
}

/// What a status says about the reason.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
struct Expected {
    state: &'static str,
    reason_type: Option<&'static str>,
    waiting_for: Option<&'static str>,
    has_end: bool,
}

impl Expected {
    const fn of(state: &'static str) -> Self {
        Self { state, reason_type: None, waiting_for: None, has_end: false }
    }

    const fn waits(state: &'static str, reason: &'static str) -> Self {
        Self { waiting_for: Some(reason), has_end: true, ..Self::of(state) }
    }

    const fn held(reason: &'static str) -> Self {
        Self { waiting_for: Some(reason), ..Self::of("held") }
    }

    fn assert(&self, world: &World, answer: &Value) {
        let text = |name: &str| answer.get(name).and_then(Value::as_str);
        assert_eq!(text("state"), Some(self.state), "{answer}");
        assert_eq!(text("reason_type"), self.reason_type, "{answer}");
        assert_eq!(text("waiting_for"), self.waiting_for, "{answer}");
        let until = text("waiting_until").map(|text| humantime::parse_rfc3339(text).unwrap());
        let now = std::time::UNIX_EPOCH + Duration::from_millis(world.now().as_ms());
        assert_eq!(until.is_some_and(|until| until > now), self.has_end, "{answer}");
        assert_eq!(until.is_some(), self.has_end, "{answer}");
    }
}

#[test]
fn the_status_says_what_a_webhook_waits_for_and_why_it_was_given_up() {
    let (mut world, expected) = scene();
    for (id, expected) in expected {
        let answer = status(&mut world, &id);
        expected.assert(&world, &answer);
    }
    let listed = get(&mut world, "/deadletters?config_id=tenant");
    let dead_letter = &listed["deadletters"][0];
    assert_eq!((&dead_letter["reason_type"], &dead_letter["attempts"]), (&"unrecoverable".into(), &1.into()));
}

#[test]
fn rb_1_a_rebuild_gives_every_reason_back() {
    let (mut world, expected) = scene();
    world.kill(0);
    let before: Vec<_> = expected.iter().map(|(id, _)| status(&mut world, id)).collect();
    world.lose_hot_state();
    world.rebuild();
    for ((id, expected), before) in expected.iter().zip(before) {
        let answer = status(&mut world, id);
        expected.assert(&world, &answer);
        assert_eq!(answer, before);
    }
}
