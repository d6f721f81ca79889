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
    let document = document().await;
    for (schema, fields) in [
        ("NewWebhook", &wire::http::enqueue::FIELDS[..]),
        ("ReplayFilter", &wire::http::dead_letters::FIELDS[..]),
        ("Decider", &wire::http::decision::FIELDS[..]),
        ("NewWebhooks", &["webhooks"][..]),
    ] {
        let properties = document["components"]["schemas"][schema]["properties"].as_object().unwrap();
        let documented: BTreeSet<_> = properties.keys().map(String::as_str).collect();
        assert_eq!(documented, fields.iter().copied().collect(), "{schema}");
    }
}
