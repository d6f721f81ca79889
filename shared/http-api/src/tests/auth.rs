//! Keys: which callers are let in, and which webhooks they see (TN-1).

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use domain::Phase;
use sha2::{Digest, Sha256};

use super::dead_letters::dead_letter;
use super::reading::{status, webhook_id};
use super::world::{Answer, World};
use crate::{ApiKey, Auth};

const BODY: &str = r#"{"endpoint":"https://a.example/","payload":1}"#;
const HASH: &str = "00112233445566778899aabbccddeeff";

fn keys() -> Auth {
    let key = |text: &str, covered: &str| ApiKey::new(&hex::encode(Sha256::digest(text)), vec![covered.to_owned()]);
    let keys = [("shop", "shop*"), ("other", "other"), ("operator", "*")];
    let keys = keys.map(|(text, covered)| (text.to_owned(), key(&format!("{text}-key"), covered).unwrap()));
    Auth::Keys(BTreeMap::from(keys))
}

async fn ask(world: &Arc<World>, key: &str, route: &str, body: &str) -> Answer {
    let (method, path) = route.split_once(' ').unwrap();
    let request = Request::builder().method(method).uri(path).header("authorization", format!("Bearer {key}"));
    world.ask_with(keys(), request.body(Body::from(body.to_owned())).unwrap()).await
}

#[tokio::test]
async fn without_a_known_key_nothing_but_health_and_the_document_is_open() {
    let world = World::new();
    let id = webhook_id();
    let guarded = [
        "POST /webhooks/shop/enqueue".to_owned(),
        "POST /webhooks/shop/enqueue/batch".to_owned(),
        format!("GET /webhooks/{id}/status"),
        format!("GET /webhooks/{id}/attempts"),
        "GET /stats".to_owned(),
        "GET /deadletters".to_owned(),
        format!("POST /deadletters/{id}/replay"),
        "POST /deadletters/replay".to_owned(),
        "GET /endpoints".to_owned(),
        format!("GET /endpoints/{HASH}"),
        format!("POST /endpoints/{HASH}/pause"),
        "GET /metrics".to_owned(),
    ];
    for route in &guarded {
        let (method, path) = route.split_once(' ').unwrap();
        for (name, value) in [
            ("x-nothing", ""),
            ("authorization", "Bearer wrong"),
            ("authorization", "Bearer "),
            ("authorization", "Basic c2hvcC1rZXk="),
            ("authorization", "shop-key"),
            ("x-api-key", "SHOP-KEY"),
            ("x-api-key", ""),
        ] {
            let request =
                Request::builder().method(method).uri(path).header(name, value).body(Body::empty()).unwrap();
            let answer = world.ask_with(keys(), request).await;
            answer.assert_problem(401);
            assert!(answer.header("www-authenticate").starts_with("Bearer"), "{route}");
        }
    }
    for path in ["/health", "/health/dependencies", "/ready", "/openapi.json"] {
        let request = Request::get(path).body(Body::empty()).unwrap();
        assert!(matches!(world.ask_with(keys(), request).await.status.as_u16(), 200 | 503), "{path}");
    }
    assert!(world.saw_nothing());
}

#[tokio::test]
async fn a_key_comes_as_bearer_or_in_its_own_header() {
    let world = World::new();
    for (name, value) in
        [("authorization", "Bearer shop-key"), ("authorization", "bearer  shop-key"), ("x-api-key", "shop-key")]
    {
        let request = Request::post("/webhooks/shop:7/enqueue").header(name, value).body(Body::from(BODY)).unwrap();
        assert_eq!(world.ask_with(keys(), request).await.status, 202);
    }
}

#[tokio::test]
async fn a_key_writes_only_for_what_it_covers() {
    let world = World::new();
    let pause = format!("POST /endpoints/{HASH}/pause");
    for (route, body) in [
        ("POST /webhooks/other/enqueue", BODY),
        ("POST /webhooks/other/enqueue/batch", "{\"webhooks\":[]}"),
        ("POST /deadletters/replay", "{\"config_id\":\"other\"}"),
        ("POST /deadletters/replay", "{\"reason_type\":\"gone\"}"),
        ("GET /deadletters", ""),
        ("GET /deadletters?config_id=other", ""),
        ("GET /stats", ""),
        ("GET /endpoints", ""),
        ("GET /endpoints?url=https://a.example/", ""),
        ("GET /metrics", ""),
        (&format!("GET /endpoints/{HASH}"), ""),
        (&pause, "{\"config_id\":\"other\"}"),
    ] {
        ask(&world, "shop-key", route, body).await.assert_problem(403);
        assert!(!ask(&world, "operator-key", route, body).await.status.is_redirection(), "{route}");
    }
    world.published.lock().unwrap().clear();
    assert_eq!(ask(&world, "shop-key", &pause, "{\"config_id\":\"shop\"}").await.status, 200);
    assert_eq!(ask(&world, "shop-key", "GET /deadletters?config_id=shop", "").await.status, 200);
    assert_eq!(ask(&world, "operator-key", "GET /stats", "").await.status, 200);
    assert_eq!(ask(&world, "operator-key", "GET /metrics", "").await.status, 200);
}

#[tokio::test]
async fn tn_1_another_tenants_webhooks_and_dead_letters_read_as_unknown() {
    let world = World::new();
    let id = webhook_id();
    world.statuses.lock().unwrap().insert(id.clone(), (status(Phase::Pending, 0), Vec::new()));
    world.add_dead_letter(dead_letter(1, "shop"));
    let dead = dead_letter(1, "shop").dispatch.webhook.id.clone();
    for (route, good) in [
        (format!("GET /webhooks/{id}/status"), 200),
        (format!("GET /webhooks/{id}/attempts"), 200),
        (format!("POST /deadletters/{dead}/replay"), 202),
    ] {
        ask(&world, "other-key", &route, "").await.assert_problem(404);
        assert_eq!(ask(&world, "shop-key", &route, "").await.status.as_u16(), good, "{route}");
    }
}
