//! The OpenAPI document says what the router does.

use std::collections::BTreeSet;

use serde_json::Value;

use super::world::World;

const ROUTES: [&str; 16] = [
    "GET /deadletters",
    "GET /endpoints",
    "GET /endpoints/{hash}",
    "GET /health",
    "GET /health/dependencies",
    "GET /metrics",
    "GET /openapi.json",
    "GET /ready",
    "GET /stats",
    "GET /webhooks/{webhook_id}/attempts",
    "GET /webhooks/{webhook_id}/status",
    "POST /deadletters/replay",
    "POST /deadletters/{webhook_id}/replay",
    "POST /endpoints/{hash}/{decision}",
    "POST /webhooks/{config_id}/enqueue",
    "POST /webhooks/{config_id}/enqueue/batch",
];

async fn document() -> Value {
    let answer = World::new().get("/openapi.json").await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/json"));
    answer.json()
}

fn operations(document: &Value) -> Vec<(String, Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let listed = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (format!("{} {path}", method.to_uppercase()), operation.clone()))
    });
    listed.collect()
}

#[tokio::test]
async fn it_is_openapi_3_1_and_lists_every_route() {
    let document = document().await;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let listed: BTreeSet<_> = operations(&document).into_iter().map(|(route, _)| route).collect();
    assert_eq!(listed, ROUTES.map(str::to_owned).into());
    for route in ROUTES {
        let (method, path) = route.split_once(' ').unwrap();
        let path = path.replace("{hash}", "x").replace("{decision}", "pause").replace("{webhook_id}", "x");
        let answer = World::new().ask(method, &path.replace("{config_id}", "t"), "").await;
        assert!(!matches!(answer.status.as_u16(), 404 | 405), "{route} is served");
    }
}

#[tokio::test]
async fn every_operation_is_explained_and_its_errors_are_problem_documents() {
    for (route, operation) in operations(&document().await) {
        assert!(operation["summary"].is_string() || operation["description"].is_string(), "{route}");
        let is_open = ["/health", "/ready", "/openapi.json"].iter().any(|open| route.contains(open));
        for (status, response) in operation["responses"].as_object().unwrap() {
            assert!(response["description"].as_str().is_some_and(|text| !text.is_empty()), "{route} {status}");
            if status.starts_with(['4', '5']) && !is_open {
                assert!(response["content"]["application/problem+json"].is_object(), "{route} {status}");
            }
        }
        assert_eq!(operation["responses"].get("401").is_none(), is_open, "{route}");
        assert_eq!(
            operation["requestBody"].is_object(),
            route.starts_with("POST") && !route.contains("{webhook_id}/replay")
        );
    }
}

#[tokio::test]
async fn no_two_operations_share_an_id() {
    let operations = operations(&document().await);
    let ids: BTreeSet<_> = operations.iter().map(|(_, operation)| operation["operationId"].to_string()).collect();
    assert_eq!(ids.len(), operations.len(), "{ids:?}");
}

#[tokio::test]
async fn every_reference_leads_somewhere() {
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let document = document().await;
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.iter().any(|reference| reference.ends_with("/Problem")));
    for reference in found {
        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
}

#[tokio::test]
async fn request_schemas_have_the_fields_that_are_read() {
    // Of every request body: its route, its required fields, its other fields.
    let bodies = [
        (
            "NewWebhook",
            "/webhooks/t/enqueue",
            &["endpoint", "payload"][..],
            &[
                "headers",
                "idempotency_key",
                "signing_secret",
                "signing_secrets",
                "max_attempts",
                "retry_on_status",
                "require_script",
            ][..],
        ),
        ("NewWebhooks", "/webhooks/t/enqueue/batch", &["webhooks"], &[]),
        ("ReplayFilter", "/deadletters/replay", &[], &["config_id", "endpoint", "reason_type", "since", "until"]),
        ("Decider", "/endpoints/00112233445566778899aabbccddeeff/pause", &["config_id"], &[]),
    ];
    let (world, document) = (World::new(), document().await);
    for (schema, route, required, optional) in bodies {
        let documented = &document["components"]["schemas"][schema];
        let names: BTreeSet<_> = documented["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, required.iter().chain(optional).copied().collect(), "{schema}");
        let listed = documented["required"].as_array().cloned().unwrap_or_default();
        assert_eq!(listed, required, "{schema}");
        // An object is the wrong type for every field but a payload: each is named by its own rule, none as unknown.
        let members: Vec<_> = names.iter().map(|name| format!("\"{name}\":{{\"a\":1}}")).collect();
        let answer = world.ask("POST", route, format!("{{{}}}", members.join(","))).await;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(answer.status == 422 && !text.contains("is not a known"), "{schema}: {text}");
    }
}
