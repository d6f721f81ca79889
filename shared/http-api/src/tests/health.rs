//! A10 to A12, and metrics.

use std::sync::atomic::Ordering;
use std::time::Duration;

use delivery::FaultKind;
use delivery::ports::recovery::Epoch;

use super::world::{NOW, World};

fn rebuilt(world: &World) {
    let completed_at = NOW.minus(Duration::from_secs(90));
    *world.epoch.lock().unwrap() = Some(Epoch { number: 4, completed_at, replayed: 1, statuses_pending: false });
    world.ready.store(true, Ordering::Release);
}

#[tokio::test]
async fn healthy_and_ready_when_every_part_answers() {
    let world = World::new();
    rebuilt(&world);
    let answer = world.get("/health").await;
    assert_eq!(answer.status, 200);
    let expected = serde_json::json!({
        "status": "healthy",
        "components": { "store": "healthy", "log": "healthy" },
        "epoch": { "epoch": 4, "completed_at": "2026-01-02T03:02:35.006Z", "age": "90s" },
        "timestamp": "2026-01-02T03:04:05.006Z",
    });
    assert_eq!(answer.json(), expected);
    let answer = world.get("/ready").await;
    assert_eq!((answer.status.as_u16(), answer.json()), (200, serde_json::json!({ "status": "ready" })));
    let answer = world.get("/health/dependencies").await;
    assert_eq!((answer.status.as_u16(), &answer.json()["status"]), (200, &"healthy".into()));
}

#[tokio::test]
async fn not_ready_before_the_server_serves_or_while_the_hot_state_is_lost() {
    let world = World::new();
    assert_eq!(world.get("/ready").await.json()["error"], "starting or stopping");
    rebuilt(&world);
    *world.epoch.lock().unwrap() = None;
    let answer = world.get("/ready").await;
    assert_eq!((answer.status.as_u16(), &answer.json()["status"]), (503, &"not ready".into()));
    assert_eq!(world.get("/health").await.status, 200, "a lost hot state is being rebuilt");
}

#[tokio::test]
async fn degraded_when_a_part_fails_and_no_secret_is_shown() {
    let world = World::new();
    rebuilt(&world);
    world.fail(FaultKind::Transient);
    for path in ["/health", "/health/dependencies", "/ready"] {
        let answer = world.get(path).await;
        assert_eq!(answer.status, 503, "{path}");
        assert!(!String::from_utf8_lossy(&answer.body).contains("password"), "SE-1");
    }
    let json = world.get("/health/dependencies").await.json();
    assert_eq!((&json["status"], &json["dependencies"]["log"]["error"]), (&"degraded".into(), &"unavailable".into()));
}

#[tokio::test]
async fn a_part_that_never_answers_does_not_hold_the_answer_up() {
    let world = World::new();
    rebuilt(&world);
    world.stalled.store(true, Ordering::Relaxed);
    let answer = world.get("/health/dependencies").await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.json()["dependencies"]["store"]["error"], "no answer within 5 seconds");
}

#[tokio::test]
async fn metrics_are_prometheus_text_here_and_on_a_router_of_their_own() {
    use tower::ServiceExt;
    let answer = World::new().get("/metrics").await;
    assert_eq!((answer.status.as_u16(), answer.body.as_slice()), (200, &b"howk_webhooks_received_total 1\n"[..]));
    assert!(answer.header("content-type").starts_with("text/plain; version=0.0.4"));
    let alone = crate::metrics_router(std::sync::Arc::new(|| "x 1\n".to_owned()));
    let request = axum::http::Request::get("/metrics").body(axum::body::Body::empty()).unwrap();
    assert_eq!(alone.oneshot(request).await.unwrap().status(), 200);
}
