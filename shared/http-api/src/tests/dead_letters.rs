//! Dead letters: pages, filters, and replay exactly once.

use std::sync::Arc;
use std::time::Duration;

use domain::{
    ConfigId, DeadLetter, Dispatch, Endpoint, Payload, PayloadKind, ReasonType, Sealed, SealedHeader, Webhook,
    WebhookId,
};

use super::world::{NOW, World};

pub(super) fn dead_letter(number: u128, config: &str) -> DeadLetter {
    let webhook = Webhook {
        id: WebhookId::fresh(NOW, number << 64 | number),
        config_id: ConfigId::parse(config).unwrap(),
        endpoint: Endpoint::parse("https://a.example/hook?token=hidden").unwrap(),
        payload: Payload { bytes: Arc::from(&b"1"[..]), kind: PayloadKind::Json },
        headers: vec![SealedHeader { name: "Authorization".to_owned(), value: Sealed::new("hidden") }],
        idempotency_key: None,
        signing_secrets: vec![Sealed::new("hidden")],
        max_attempts: 3,
        retry_on_status: Vec::new(),
        trace: None,
        created_at: NOW,
    };
    let first = Dispatch::first(Arc::new(webhook));
    DeadLetter {
        dispatch: Dispatch { number: 5, attempt: 3, ..first },
        reason_type: ReasonType::Exhausted,
        reason: "all 3 attempts failed".to_owned(),
        last_error: Some("the endpoint answered 500".to_owned()),
        status: Some(500),
        response_body: Some("oops".to_owned()),
        at: NOW.plus(Duration::from_secs(u64::try_from(number).unwrap())),
    }
}

#[tokio::test]
async fn pages_cover_every_dead_letter_once_and_show_no_secret() {
    let world = World::new();
    for number in [3, 1, 2, 5, 4] {
        world.add_dead_letter(dead_letter(number, "shop"));
    }
    let (mut seen, mut path) = (Vec::new(), "/deadletters?limit=2".to_owned());
    loop {
        let answer = world.get(&path).await;
        assert_eq!(answer.status, 200);
        assert!(!String::from_utf8_lossy(&answer.body).contains("hidden"), "SE-1");
        let json = answer.json();
        seen.extend(json["deadletters"].as_array().unwrap().clone());
        match json["next_cursor"].as_str() {
            Some(cursor) => path = format!("/deadletters?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    let ids: Vec<_> = seen.iter().map(|item| item["webhook_id"].as_str().unwrap().to_owned()).collect();
    let expected: Vec<_> =
        (1..=5).map(|number| dead_letter(number, "shop").dispatch.webhook.id.to_string()).collect();
    assert_eq!(ids, expected, "oldest first, each once");
    let hash = dead_letter(1, "shop").dispatch.webhook.endpoint.hash().to_string();
    let first = serde_json::json!({
        "webhook_id": expected[0], "config_id": "shop", "endpoint": "https://a.example/hook", "endpoint_hash": hash,
        "reason": "all 3 attempts failed", "reason_type": "exhausted", "last_error": "the endpoint answered 500",
        "status_code": 500, "response_body": "oops", "attempts": 3, "at": "2026-01-02T03:04:06.006Z",
        "headers": { "Authorization": "[REDACTED]" },
    });
    assert_eq!(seen[0], first);
}

#[tokio::test]
async fn filters_narrow_the_listing() {
    let world = World::new();
    world.add_dead_letter(dead_letter(1, "shop"));
    world.add_dead_letter(dead_letter(2, "other"));
    world.dead_letters.lock().unwrap()[1].1 = None;
    let hash = dead_letter(1, "shop").dispatch.webhook.endpoint.hash().to_string();
    for (query, count) in [
        ("", 2),
        ("config_id=shop", 1),
        ("config_id=unknown", 0),
        ("reason_type=exhausted", 2),
        ("reason_type=gone", 0),
        ("since=2026-01-02T03:04:06.006Z&until=2026-01-02T03:04:07.006Z", 1),
        ("since=2026-01-02T04:04:07.006%2B01:00", 1),
        (&format!("endpoint={hash}"), 2),
        ("endpoint=https://a.example/hook?token=hidden", 2),
        ("endpoint=https://a.example/hook", 0),
    ] {
        let json = world.get(&format!("/deadletters?{query}")).await.json();
        assert_eq!(json["deadletters"].as_array().unwrap().len(), count, "{query}");
    }
    let json = world.get("/deadletters?config_id=other").await.json();
    assert!(json["deadletters"][0].get("reason").is_none(), "the record is gone, the entry is not");
}

#[tokio::test]
async fn one_dead_letter_is_replayed_once() {
    let world = World::new();
    world.add_dead_letter(dead_letter(1, "shop"));
    let id = dead_letter(1, "shop").dispatch.webhook.id.clone();
    let path = format!("/deadletters/{id}/replay");
    world.leased.lock().unwrap().push(id.clone());
    world.ask("POST", &path, "").await.assert_problem(409);
    world.leased.lock().unwrap().clear();
    let answer = world.ask("POST", &path, "").await;
    assert_eq!(answer.status, 202);
    assert_eq!(answer.json(), serde_json::json!({ "webhook_id": id.as_str(), "dispatch": 6 }));
    world.ask("POST", &path, "").await.assert_problem(404);
    assert_eq!(world.accepted().len(), 1);
}

#[tokio::test]
async fn a_filter_replays_each_match_once_for_two_callers_at_once() {
    let world = World::new();
    for number in 1..=3 {
        let mut dead_letter = dead_letter(number, if number == 3 { "other" } else { "shop" });
        dead_letter.at = NOW;
        world.add_dead_letter(dead_letter);
    }
    let body = r#"{"config_id":"shop"}"#;
    let (one, other) = futures::future::join(
        world.ask("POST", "/deadletters/replay", body),
        world.ask("POST", "/deadletters/replay", body),
    )
    .await;
    assert_eq!((one.status.as_u16(), other.status.as_u16()), (202, 202));
    let count = |json: serde_json::Value| json["webhook_ids"].as_array().unwrap().len();
    assert_eq!(one.json()["replayed"].as_u64().unwrap() + other.json()["replayed"].as_u64().unwrap(), 2);
    assert_eq!(count(one.json()) + count(other.json()), 2);
    assert_eq!(world.accepted().len(), 2);
}
