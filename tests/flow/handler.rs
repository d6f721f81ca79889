//! The enqueue function: events of an HTTP API and of a function URL in, responses out, and the trace from the caller's
//! request to the receiver's.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use domain::{Record, TraceParent, Webhook};
use enqueue::HttpHandler;
use howk_tests::world::{World, settings};
use http_api::{Api, ApiLimits, Auth, Health};
use lambda_http::aws_lambda_events::encodings::Body;
use lambda_http::http::Response;
use lambda_http::request::LambdaRequest;
use lambda_kit::Invoked;
use serde_json::{Value, json as value};

use crate::{MINUTE, URL};

const MARGIN: Duration = Duration::from_secs(1);
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

pub(crate) fn handler(world: &World) -> HttpHandler {
    let (system, backend) = (&world.system, &world.system.backend);
    let router = http_api::router(Api {
        enqueue: system.enqueue.clone(),
        statuses: Arc::clone(&backend.stores.statuses),
        stats: Arc::clone(&backend.stores.stats),
        dead_letters: system.dead_letters.clone(),
        endpoints: system.endpoints.clone(),
        health: Health {
            recovery: Arc::clone(&backend.stores.recovery),
            log: Arc::clone(&backend.log),
            ready: Arc::new(AtomicBool::new(true)),
        },
        clock: Arc::clone(&system.release.clock),
        limits: ApiLimits::default(),
        auth: Auth::None,
        metrics: Arc::new(String::new),
    });
    HttpHandler { router, stats_buffer: Arc::clone(&system.stats_buffer), clock: Arc::clone(&system.release.clock) }
}

/// A request in payload format 2.0, which HTTP APIs and function URLs share.
pub(crate) fn event(method: &str, path: &str, headers: &Value, body: Option<&str>) -> String {
    let domain = "id.execute-api.eu-west-1.amazonaws.com";
    value!({
        "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": "", "headers": headers,
        "requestContext": {
            "accountId": "123456789012", "apiId": "id", "domainName": domain, "domainPrefix": "id",
            "http": { "method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1", "userAgent": "x" },
            "requestId": "r", "routeKey": "$default", "stage": "$default", "time": "31/Jan/2026:12:00:00 +0000",
            "timeEpoch": 1_769_860_800_000_u64,
        },
        "body": body, "isBase64Encoded": false,
    })
    .to_string()
}

pub(crate) fn ask(world: &mut World, event: &str) -> (u16, String) {
    let request: LambdaRequest = serde_json::from_str(event).unwrap();
    let handler = handler(world);
    let invoked = Invoked::lasting_until(world.now().plus(MINUTE), MARGIN);
    read(&world.run(async move { handler.answer(request.into(), invoked).await }))
}

fn read(answer: &Response<Body>) -> (u16, String) {
    let body = match answer.body() {
        Body::Text(text) => text.clone(),
        Body::Binary(bytes) => String::from_utf8(bytes.clone()).unwrap(),
        _ => String::new(),
    };
    (answer.status().as_u16(), body)
}

fn accepted(world: &World) -> Vec<Arc<Webhook>> {
    let published = world.witness.published().into_iter();
    published
        .filter_map(|record| match record {
            Record::Dispatch(_, dispatch) => Some(dispatch.webhook),
            _ => None,
        })
        .collect()
}

/// P13: a log that does not answer costs neither the environment nor the caller's answer.
#[test]
fn p13_a_request_is_answered_before_the_invocation_ends() {
    let mut world = World::new(1, settings());
    let never = axum::Router::new().fallback(std::future::pending::<()>);
    let (handler, began_at) = (HttpHandler { router: never, ..handler(&world) }, world.now());
    let invoked = Invoked::lasting_until(began_at.plus(Duration::from_secs(15)), MARGIN);
    let request: LambdaRequest = serde_json::from_str(&event("POST", "/webhooks", &value!({}), Some("{}"))).unwrap();
    let answer = world.run(async move { handler.answer(request.into(), invoked).await });
    assert_eq!((answer.status().as_u16(), world.now().since(began_at)), (503, Duration::from_secs(14)));
    assert!(answer.headers().contains_key("retry-after"));
    assert!(read(&answer).1.contains("repeat the request"), "{answer:?}");
}

#[test]
fn a_post_is_answered_202_once_the_log_has_it() {
    let mut world = World::new(1, settings());
    let body = format!("{{\"endpoint\":\"{URL}\",\"payload\":{{\"n\":1.10}}}}");
    let (status, answer) = ask(&mut world, &event("POST", "/webhooks/shop/enqueue", &value!({}), Some(&body)));
    let webhook = accepted(&world).remove(0);
    assert_eq!(status, 202);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer, value!({ "webhook_id": webhook.id.as_str(), "status": "pending" }));
    assert_eq!((&*webhook.payload.bytes, &webhook.trace), (&b"{\"n\":1.10}"[..], &None));
    let (status, problem) = ask(&mut world, &event("POST", "/webhooks/shop/enqueue", &value!({}), Some("{")));
    assert_eq!(status, 400, "{problem}");
    assert_eq!(ask(&mut world, &event("GET", "/nowhere", &value!({}), None)).0, 404);
}

#[test]
fn the_trace_of_a_request_belongs_to_its_webhook() {
    let mut world = World::new(1, settings());
    let xray = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
    let body = format!("{{\"endpoint\":\"{URL}\",\"payload\":1}}");
    let batch = format!("{{\"webhooks\":[{body},{body}]}}");
    for (path, headers, body) in [
        ("/webhooks/shop/enqueue", value!({ "traceparent": TRACE, "x-amzn-trace-id": xray }), &body),
        ("/webhooks/shop/enqueue", value!({ "traceparent": "nonsense", "X-Amzn-Trace-Id": xray }), &body),
        ("/webhooks/shop/enqueue/batch", value!({ "traceparent": TRACE }), &batch),
    ] {
        assert_eq!(ask(&mut world, &event("POST", path, &headers, Some(body))).0, 202);
    }
    let traces: Vec<_> = accepted(&world).iter().map(|webhook| webhook.trace.clone()).collect();
    let (given, made) = (TraceParent::parse(TRACE), TraceParent::of_xray(xray));
    assert_eq!(traces, [given.clone(), made, given.clone(), given]);
}
