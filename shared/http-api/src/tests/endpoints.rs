//! Endpoints: listing, finding by URL, and their owners' decisions.

use std::time::Duration;

use delivery::ports::endpoints::{EndpointView, SettingView};
use domain::{
    Circuit, ConfigId, Cooldown, EndpointHash, EndpointSetting, EndpointState, Lane, Record, WaitReason, Waiting,
    Write,
};

use super::dead_letters::dead_letter;
use super::world::{NOW, World};

fn view(url: &str) -> EndpointView {
    let cooldown = Cooldown::new(NOW.plus(Duration::from_mins(1)), NOW.plus(Duration::from_secs(90)));
    EndpointView {
        hash: EndpointHash::of(url),
        url: Some(url.to_owned()),
        state: EndpointState {
            circuit: Circuit::Open { since: NOW },
            cooldown: Some(cooldown),
            ..EndpointState::default()
        },
        inflight: 2,
        settings: vec![SettingView {
            config_id: ConfigId::parse("shop").unwrap(),
            state: EndpointSetting::Paused,
            held: 9,
        }],
    }
}

#[tokio::test]
async fn an_unhealthy_endpoint_is_shown_with_the_reasons() {
    let world = World::new();
    let view = view("https://a.example/x?secret=hidden");
    let hash = view.hash.to_string();
    world.views.lock().unwrap().insert(view.hash.clone(), view);
    let expected = serde_json::json!({
        "hash": hash, "url": "https://a.example/x", "normal": false, "inflight": 2, "held": 9,
        "circuit": { "state": "open", "since": "2026-01-02T03:04:05.006Z" },
        "cooldown": { "state": "holding", "ends_at": "2026-01-02T03:05:05.006Z", "window_end": "2026-01-02T03:05:35.006Z" },
        "settings": [{ "config_id": "shop", "state": "paused", "held": 9 }],
    });
    assert_eq!(world.get(&format!("/endpoints/{hash}")).await.json(), expected);
    assert_eq!(world.get("/endpoints").await.json(), serde_json::json!({ "endpoints": [expected] }));
    let found = world.get("/endpoints?url=https://a.example/x?secret%3Dhidden").await.json();
    assert_eq!(found["endpoints"][0]["hash"], hash);
}

#[tokio::test]
async fn a_cooldown_is_holding_probing_or_over() {
    let world = World::new();
    let second = Duration::from_secs(1);
    for (ends_at, window_end, state) in [
        (NOW.plus(second), NOW.plus(2 * second), "holding"),
        (NOW, NOW.plus(second), "probing"),
        (NOW.minus(second), NOW, "over"),
    ] {
        let mut view = view("https://a.example/x");
        view.state.cooldown = Some(Cooldown::new(ends_at, window_end));
        let path = format!("/endpoints/{}", view.hash);
        world.views.lock().unwrap().insert(view.hash.clone(), view);
        assert_eq!(world.get(&path).await.json()["cooldown"]["state"], state);
    }
}

#[tokio::test]
async fn a_normal_endpoint_is_found_by_its_url() {
    let world = World::new();
    let json = world.get("/endpoints?url=https://a.example/y").await.json();
    let hash = EndpointHash::of("https://a.example/y");
    assert_eq!(json["endpoints"][0]["hash"], hash.as_str());
    assert_eq!(json["endpoints"][0]["normal"], true);
    let json = world.get(&format!("/endpoints/{hash}")).await.json();
    assert_eq!((&json["normal"], &json["circuit"]["state"]), (&true.into(), &"closed".into()));
}

#[tokio::test]
async fn pages_cover_every_endpoint_once() {
    let world = World::new();
    for number in 0..5 {
        let view = view(&format!("https://a.example/{number}"));
        world.views.lock().unwrap().insert(view.hash.clone(), view);
    }
    let (mut seen, mut path) = (Vec::new(), "/endpoints?limit=2".to_owned());
    loop {
        let json = world.get(&path).await.json();
        let page = json["endpoints"].as_array().unwrap();
        seen.extend(page.iter().map(|endpoint| endpoint["hash"].as_str().unwrap().to_owned()));
        match json["next_after"].as_str() {
            Some(after) => path = format!("/endpoints?limit=2&after={after}"),
            None => break,
        }
    }
    let all: Vec<_> = world.views.lock().unwrap().keys().map(EndpointHash::to_string).collect();
    assert_eq!(seen, all);
}

#[tokio::test]
async fn decisions_are_durable_before_they_count_and_what_was_held_is_released() {
    let world = World::new();
    let dead_letter = dead_letter(1, "shop");
    let hash = dead_letter.dispatch.webhook.endpoint.hash().clone();
    world.held.lock().unwrap().push(Waiting {
        dispatch: dead_letter.dispatch,
        lane: Lane::Fast,
        due: NOW,
        reason: WaitReason::Paused,
        cooldown: None,
    });
    for (decision, state, name, released) in [
        ("pause", EndpointSetting::Paused, "paused", 0),
        ("disable", EndpointSetting::Disabled, "disabled", 0),
        ("resume", EndpointSetting::Active, "active", 1),
        ("enable", EndpointSetting::Active, "active", 0),
    ] {
        let answer = world.ask("POST", &format!("/endpoints/{hash}/{decision}"), "{\"config_id\":\"shop\"}").await;
        assert_eq!(answer.status, 200);
        let expected =
            serde_json::json!({ "hash": hash.as_str(), "config_id": "shop", "state": name, "released": released });
        assert_eq!(answer.json(), expected);
        let published = std::mem::take(&mut *world.published.lock().unwrap());
        assert!(
            matches!(published.first().unwrap().as_slice(), [Record::Setting(decided)] if decided.state == state)
        );
        let written = std::mem::take(&mut *world.written.lock().unwrap());
        assert!(matches!(written.first().unwrap(), Write::Decide(decided) if decided.state == state));
        assert_eq!(written.iter().filter(|write| matches!(write, Write::Schedule(_))).count(), released);
    }
}
