//! Functions that start while Redis is away: webhooks are accepted, and everything else works once Redis is there.

use serde_json::{Value, json};
use testkit::generate::fresh_number;

use crate::functions::Alone;
use crate::own_redis::{OwnRedis, free_port};
use crate::rig::until;
use crate::system::{make_topics, variables};

fn event(method: &str, path: &str, body: &Value) -> Value {
    json!({
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": { "content-type": "application/json", "host": "howk" },
        "requestContext": {
            "http": { "method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1" },
            "requestId": "request-7",
            "routeKey": "$default",
            "stage": "$default",
            "time": "30/Nov/2026:12:00:00 +0000",
            "timeEpoch": 1_796_040_000_000_u64,
        },
        "body": body.to_string(),
        "isBase64Encoded": false,
    })
}

/// Posts a webhook under an idempotency key, and returns its id.
async fn accepted(enqueue: &Alone, key: &str) -> String {
    let webhook = json!({ "endpoint": "https://receiver.example/", "payload": {}, "idempotency_key": key });
    let answer = enqueue.answers(&event("POST", "/webhooks/acme/enqueue", &webhook)).await;
    assert_eq!(answer["statusCode"], 202, "{answer}");
    let body: Value = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
    body["webhook_id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_are_accepted_by_a_function_that_starts_without_redis() {
    let topics = make_topics(&format!("test-{}-{}.", std::process::id(), fresh_number())).await;
    let port = free_port();
    let enqueue = Alone::new("enqueue", variables(&topics.config, format!("127.0.0.1:{port}")));
    let first = accepted(&enqueue, "order-1").await;
    assert_eq!(accepted(&enqueue, "order-1").await, first, "the id is derived, not remembered");
    assert_eq!(enqueue.lines("Redis cannot be reached; the start goes on without it").len(), 1);
    // The same process finds Redis when it is there.
    let redis = OwnRedis::start_at(port).await;
    let second = accepted(&enqueue, "order-2").await;
    let path = format!("/webhooks/{second}/status");
    until("the status stands in Redis", async || {
        enqueue.answers(&event("GET", &path, &Value::Null)).await["statusCode"] == 200
    })
    .await;
    assert_eq!(enqueue.lambda.state_of("enqueue").unwrap().cold_starts, 1);
    enqueue.shut_down().await;
    drop(redis);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_that_can_do_nothing_without_redis_do_not_start() {
    let topics = make_topics(&format!("test-{}-{}.", std::process::id(), fresh_number())).await;
    let nowhere = format!("127.0.0.1:{}", free_port());
    for name in ["reconciler", "scheduler"] {
        let function = Alone::new(name, variables(&topics.config, nowhere.clone()));
        let line = function.refuses_to_start().await;
        assert!(line.contains(&format!("{name} cannot start: Redis cannot be reached")), "{line}");
        function.shut_down().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_login_is_refused_by_every_function() {
    let topics = make_topics(&format!("test-{}-{}.", std::process::id(), fresh_number())).await;
    let redis = OwnRedis::start().await;
    for name in ["enqueue", "fast-lane", "slow-lane", "scheduler", "reconciler"] {
        let mut variables = variables(&topics.config, redis.address());
        variables.insert("HOWK_REDIS_USERNAME".to_owned(), "unknown".to_owned());
        variables.insert("HOWK_REDIS_PASSWORD".to_owned(), "hunter2".to_owned());
        let function = Alone::new(name, variables);
        let line = function.refuses_to_start().await;
        assert!(line.contains("Redis cannot be reached") && line.contains("authentication failed"), "{line}");
        assert!(!line.contains("hunter2"), "{line}");
        function.shut_down().await;
    }
}
