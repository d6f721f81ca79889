//! A3, attempts and A4.

use std::time::Duration;

use delivery::FaultKind;
use domain::{Attempt, Cause, ConfigId, Next, Phase, ReasonType, Status, Timestamp, WaitReason, WebhookId};
use serde_json::json;

use super::world::{NOW, World};

pub(super) fn webhook_id() -> WebhookId {
    WebhookId::fresh(NOW, 1)
}

pub(super) fn status(phase: Phase, attempts: u32) -> Status {
    let pending = Status::pending(webhook_id(), ConfigId::parse("shop").unwrap(), 1, NOW);
    Status { phase, attempts, ..pending }
}

async fn read(status: Status) -> serde_json::Value {
    let world = World::new();
    world.statuses.lock().unwrap().insert(webhook_id(), (status, Vec::new()));
    let answer = world.get(&format!("/webhooks/{}/status", webhook_id())).await;
    assert_eq!(answer.status, 200);
    answer.json()
}

#[tokio::test]
async fn states_have_the_originals_names() {
    for (phase, attempts, state) in [
        (Phase::Pending, 0, "pending"),
        (Phase::Delivering, 0, "delivering"),
        (Phase::Waiting, 0, "pending"),
        (Phase::Waiting, 2, "failed"),
        (Phase::Held, 0, "held"),
        (Phase::Delivered, 1, "delivered"),
        (Phase::Dead, 3, "exhausted"),
    ] {
        let json = read(status(phase, attempts)).await;
        assert_eq!((&json["state"], &json["attempts"]), (&state.into(), &attempts.into()), "W3");
    }
}

#[tokio::test]
async fn a_status_shows_what_is_known_and_nothing_else() {
    let failed = Status {
        next: Some(Next { due: NOW.plus(Duration::from_secs(10)), attempt: 2 }),
        waiting_for: Some(WaitReason::Retry),
        last_attempt_at: Some(NOW),
        last_status: Some(500),
        last_error: Some("the endpoint answered 500".to_owned()),
        ..status(Phase::Waiting, 1)
    };
    let expected = json!({
        "webhook_id": webhook_id().as_str(),
        "state": "failed",
        "waiting_for": "backoff",
        "waiting_until": "2026-01-02T03:04:15.006Z",
        "attempts": 1,
        "last_attempt_at": "2026-01-02T03:04:05.006Z",
        "last_status_code": 500,
        "last_error": "the endpoint answered 500",
        "next_retry_at": "2026-01-02T03:04:15.006Z",
    });
    assert_eq!(read(failed).await, expected);
    let expected = json!({
        "webhook_id": webhook_id().as_str(),
        "state": "delivered",
        "attempts": 1,
        "delivered_at": "2026-01-02T03:04:05.006Z",
    });
    assert_eq!(read(status(Phase::Delivered, 1)).await, expected);
}

#[tokio::test]
async fn what_waits_is_shown_with_the_reason_and_until_when() {
    let next = Some(Next { due: NOW.plus(Duration::from_secs(10)), attempt: 1 });
    for reason in WaitReason::ALL {
        let phase = if reason.is_held() { Phase::Held } else { Phase::Waiting };
        let json = read(Status { next, waiting_for: Some(reason), ..status(phase, 0) }).await;
        let name = if reason == WaitReason::Retry { "backoff" } else { reason.code() };
        assert_eq!(json["waiting_for"], name);
        let until = json.get("waiting_until").and_then(serde_json::Value::as_str);
        assert_eq!(until, (!reason.is_held()).then_some("2026-01-02T03:04:15.006Z"), "{name}");
        assert!(json.get("reason_type").is_none(), "{name}");
    }
}

#[tokio::test]
async fn what_was_given_up_keeps_the_originals_state_and_names_the_reason() {
    for reason in ReasonType::ALL {
        let json = read(Status { reason_type: Some(reason), ..status(Phase::Dead, 1) }).await;
        assert_eq!((&json["state"], &json["reason_type"]), (&"exhausted".into(), &reason.code().into()));
        assert!(json.get("waiting_for").is_none() && json.get("waiting_until").is_none());
    }
}

#[tokio::test]
async fn attempts_are_listed_with_their_cause() {
    let world = World::new();
    let attempt = Attempt {
        number: 1,
        dispatch: 2,
        cause: Cause::Takeover,
        at: NOW,
        took: Duration::from_micros(1500),
        status: Some(503),
        error: Some("the endpoint answered 503".to_owned()),
    };
    let second = Attempt { number: 2, cause: Cause::Retry, status: Some(200), error: None, ..attempt.clone() };
    world.statuses.lock().unwrap().insert(webhook_id(), (status(Phase::Delivered, 2), vec![attempt, second]));
    let answer = world.get(&format!("/webhooks/{}/attempts", webhook_id())).await;
    assert_eq!(answer.status, 200);
    let at = "2026-01-02T03:04:05.006Z";
    let expected = json!({
        "webhook_id": webhook_id().as_str(),
        "attempts": [
            { "number": 1, "dispatch": 2, "cause": "takeover", "at": at, "duration_ms": 1, "status_code": 503,
              "error": "the endpoint answered 503", "outcome": "failure" },
            { "number": 2, "dispatch": 2, "cause": "retry", "at": at, "duration_ms": 1, "status_code": 200,
              "outcome": "success" },
        ],
    });
    assert_eq!(answer.json(), expected);
}

#[tokio::test]
async fn stats_sum_the_utc_hours_that_a_period_touches() {
    let world = World::new();
    let json = world.get("/stats").await.json();
    let now = Timestamp::as_secs(NOW) / 3600;
    let hours: Vec<Vec<u64>> =
        world.hours.lock().unwrap().iter().map(|hours| hours.iter().map(|hour| hour.0).collect()).collect();
    assert_eq!(hours, [(now - 1..=now).collect::<Vec<_>>(), (now - 24..=now).collect()]);
    assert_eq!((&json["last_1h"]["period"], &json["last_24h"]["period"]), (&"1h".into(), &"24h".into()));
    assert_eq!((&json["last_1h"]["enqueued"], &json["last_24h"]["enqueued"]), (&2.into(), &25.into()));
    assert_eq!(json["last_1h"]["unique_endpoints"], 7);
}

#[tokio::test]
async fn a_store_that_fails_is_no_row_of_zeros() {
    let world = World::new();
    world.fail(FaultKind::Transient);
    let id = webhook_id();
    for path in [
        "/stats".to_owned(),
        format!("/webhooks/{id}/status"),
        format!("/webhooks/{id}/attempts"),
        "/deadletters".to_owned(),
        "/endpoints".to_owned(),
        "/endpoints?url=https://a.example/".to_owned(),
    ] {
        let answer = world.get(&path).await;
        answer.assert_problem(503);
        assert_eq!(answer.header("retry-after"), "5");
    }
}
