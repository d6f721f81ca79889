//! Requests that no caller should make: each gets a 4xx problem document, and nothing reaches the log or the store.

use axum::body::Body;

use super::world::World;

const ONE: &str = "/webhooks/t/enqueue";
const BATCH: &str = "/webhooks/t/enqueue/batch";
const REPLAY: &str = "/deadletters/replay";
const PAUSE: &str = "/endpoints/00112233445566778899aabbccddeeff/pause";

/// Method, path, body, status.
type Hostile = (&'static str, String, Vec<u8>, u16);

fn posted(path: &str, body: impl Into<Vec<u8>>, status: u16) -> Hostile {
    ("POST", path.to_owned(), body.into(), status)
}

fn asked(path: impl Into<String>, status: u16) -> Hostile {
    ("GET", path.into(), Vec::new(), status)
}

/// An A1 body whose `payload` is fine.
fn with(members: &str) -> String {
    format!("{{\"payload\":1,{members}}}")
}

fn bodies() -> Vec<Hostile> {
    let oversize = format!("{{\"endpoint\":\"https://a.example/\",\"payload\":\"{}\"}}", "x".repeat(70_000));
    let deep = format!("{{\"endpoint\":\"https://a/\",\"payload\":{}1{}}}", "[".repeat(20_000), "]".repeat(20_000));
    vec![
        posted(ONE, oversize.clone(), 413),
        posted(BATCH, oversize, 413),
        posted(REPLAY, vec![b' '; 70_000], 413),
        posted(ONE, "", 400),
        posted(ONE, "{", 400),
        posted(ONE, "not json", 400),
        posted(ONE, "endpoint=https%3A%2F%2Fa.example%2F&payload=1", 400),
        posted(ONE, "<xml/>", 400),
        posted(ONE, b"{\"endpoint\":\"https://a.example/\xff\",\"payload\":1}", 400),
        posted(ONE, [0xff, 0xfe, 0x7b, 0x00], 400),
        posted(ONE, "\u{feff}{}", 400),
        posted(ONE, "{\"endpoint\":\"https://a.example/\",\"payload\":1} trailing", 400),
        posted(ONE, "{\"endpoint\":\"https://a.example/\",\"payload\":NaN}", 400),
        posted(ONE, "[".repeat(60_000), 400),
        posted(ONE, deep, 422),
        posted(ONE, "null", 422),
        posted(ONE, "[]", 422),
        posted(ONE, "{}", 422),
        posted(ONE, "{\"endpoint\":\"https://a.example/\"}", 422),
        posted(ONE, "{\"payload\":1}", 422),
    ]
}

fn fields() -> Vec<Hostile> {
    let good = "\"endpoint\":\"https://a.example/\"";
    let mut all: Vec<_> = [
        "\"\"",
        "null",
        "5",
        "\"a.example\"",
        "\"ftp://a.example/\"",
        "\"mailto:x@y.example\"",
        "\"javascript:alert(1)\"",
        "\"file:///etc/passwd\"",
        "\"https://\"",
        "\"https://?x\"",
        "\"https://user:pw@a.example/\"",
        "\"https://a b/\"",
        "\"https://a.example/\\r\\nX: 1\"",
        "\"https://[::1\"",
        "\"http://169.254.169.254/latest\"",
        "\"https://a:99999/\"",
        "\"\\ud800\"",
        "{\"url\":\"https://a.example/\"}",
    ]
    .iter()
    .map(|url| posted(ONE, with(&format!("\"endpoint\":{url}")), 422))
    .collect();
    let long = format!("\"endpoint\":\"https://a.example/{}\"", "x".repeat(2048));
    all.push(posted(ONE, with(&long), 422));
    let members = [
        "\"max_attempts\":0",
        "\"max_attempts\":-1",
        "\"max_attempts\":1e99",
        "\"max_attempts\":2.5",
        "\"max_attempts\":101",
        "\"max_attempts\":18446744073709551616",
        "\"retry_on_status\":[200]",
        "\"retry_on_status\":500",
        "\"headers\":[]",
        "\"headers\":{\"Host\":\"evil\"}",
        "\"headers\":{\"X\":\"a\\r\\nb\"}",
        "\"headers\":{\"X\":\"1\",\"x\":\"2\"}",
        "\"headers\":{\"X\":{\"a\":\"1\"}}",
        "\"signing_secret\":\"\"",
        "\"signing_secret\":\"whsec_***\"",
        "\"signing_secrets\":[]\u{20},\"signing_secrets\":[]",
        "\"idempotency_key\":\"\"",
        "\"idempotency_key\":\"a\\u0000\"",
        "\"require_script\":true",
        "\"require_script\":1",
        "\"max_attempt\":3",
        "\"__proto__\":{}",
    ];
    all.extend(members.iter().map(|member| posted(ONE, with(&format!("{good},{member}")), 422)));
    all
}

fn batches() -> Vec<Hostile> {
    let many = format!("{{\"webhooks\":[{}]}}", vec!["1"; 30_000].join(","));
    let mut all: Vec<_> = [
        "{}",
        "[]",
        "{\"webhooks\":null}",
        "{\"webhooks\":{}}",
        "{\"webhooks\":[]}",
        "{\"webhooks\":[null]}",
        "{\"webhooks\":[[[[]]]]}",
        "{\"webhooks\":[1e999]}",
        "{\"webhook\":[]}",
        "{\"webhooks\":[{}],\"x\":1}",
        "{\"webhooks\":[{}]}",
    ]
    .iter()
    .map(|body| posted(BATCH, *body, 422))
    .collect();
    all.extend([posted(BATCH, many, 422), posted(BATCH, "{\"webhooks\":[", 400), posted(BATCH, "", 400)]);
    all
}

fn paths() -> Vec<Hostile> {
    let id = "wh_01JZ8QK4T5W6X7Y8Z9A0B1C2D3";
    let long = "x".repeat(129);
    let body = "{\"endpoint\":\"https://a.example/\",\"payload\":1}";
    vec![
        posted("/webhooks/a%20b/enqueue", body, 422),
        posted("/webhooks/a%2Fb/enqueue", body, 422),
        posted("/webhooks/%ff/enqueue", body, 422),
        posted("/webhooks/%00/enqueue", body, 422),
        posted(&format!("/webhooks/{long}/enqueue"), body, 422),
        posted("/webhooks//enqueue", body, 422),
        posted("/webhooks/t/enqueue/", body, 404),
        posted("/webhooks/t/enqueue/../batch", body, 404),
        posted("/WEBHOOKS/t/enqueue", body, 404),
        ("GET", ONE.to_owned(), Vec::new(), 405),
        ("PUT", ONE.to_owned(), body.into(), 405),
        ("DELETE", BATCH.to_owned(), Vec::new(), 405),
        ("PATCH", "/stats".to_owned(), Vec::new(), 405),
        ("OPTIONS", ONE.to_owned(), Vec::new(), 405),
        ("BREW", ONE.to_owned(), Vec::new(), 405),
        ("POST", "/health".to_owned(), Vec::new(), 405),
        asked("/", 404),
        asked("/nope", 404),
        asked("/../etc/passwd", 404),
        asked("/webhooks/wh_x/status", 422),
        asked("/webhooks/wh_01jz8qk4t5w6x7y8z9a0b1c2d3/status", 422),
        asked(format!("/webhooks/{id}/status"), 404),
        asked(format!("/webhooks/{id}/attempts"), 404),
        asked("/webhooks/%E2%82%28/attempts", 422),
        asked("/endpoints/xyz", 422),
        asked("/endpoints/00112233445566778899AABBCCDDEEFF", 422),
        posted(&format!("/deadletters/{id}/replay"), "", 404),
        posted("/deadletters/5/replay", "", 422),
        posted("/endpoints/xyz/pause", "{\"config_id\":\"t\"}", 422),
        posted("/endpoints/00112233445566778899aabbccddeeff/explode", "{\"config_id\":\"t\"}", 404),
        posted(PAUSE, "{}", 422),
        posted(PAUSE, "", 400),
        posted(PAUSE, "{\"config_id\":\"a b\"}", 422),
        posted(PAUSE, "{\"config_id\":\"t\",\"until\":\"tomorrow\"}", 422),
        posted(REPLAY, "{}", 422),
        posted(REPLAY, "", 400),
        posted(REPLAY, "{\"config_id\":null}", 422),
        posted(REPLAY, "{\"configid\":\"t\"}", 422),
    ]
}

fn queries() -> Vec<Hostile> {
    let mut all: Vec<_> = [
        "limit=0",
        "limit=201",
        "limit=-1",
        "limit=1.5",
        "limit=99999999999999999999",
        "limit=",
        "limit=1&limit=1",
        "cursor=",
        "cursor=x",
        "cursor=AAAA",
        "cursor=%00",
        "reason_type=none",
        "since=yesterday",
        "until=2026-02-30T00:00:00Z",
        "since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z",
        "config_id=a%20b",
        "config_id=%ff",
        "endpoint=x",
        "endpoint=ftp://a.example/",
        "page=2",
        "sort=x",
    ]
    .iter()
    .map(|query| asked(format!("/deadletters?{query}"), 422))
    .collect();
    all.extend(
        ["limit=0", "limit=x", "after=x", "url=x", "url=", "x=1", "url=https://a.example/&url=https://b.example/"]
            .iter()
            .map(|query| asked(format!("/endpoints?{query}"), 422)),
    );
    all
}

#[tokio::test]
async fn hostile_requests_get_a_problem_document_and_reach_nothing() {
    let world = World::new();
    let all = [bodies(), fields(), batches(), paths(), queries()].concat();
    assert!(all.len() >= 64, "{}", all.len());
    for (method, path, body, status) in all {
        let shown = format!("{method} {path} {}", String::from_utf8_lossy(body.get(..80).unwrap_or(&body)));
        let answer = world.ask(method, &path, body).await;
        assert_eq!(answer.status.as_u16(), status, "{shown}: {}", String::from_utf8_lossy(&answer.body));
        answer.assert_problem(status);
        let names_something = !answer.fields().is_empty() || answer.json().get("webhooks").is_some();
        assert!(status != 422 || names_something, "{shown}: names no field");
        assert!(status != 405 || !answer.header("allow").is_empty(), "{shown}: no Allow");
        assert!(answer.body.len() < 32_000, "{shown}: an answer stays small, not {}", answer.body.len());
        assert!(world.saw_nothing(), "{shown}");
    }
}

#[tokio::test]
async fn a_body_that_announces_its_length_is_refused_before_it_is_read() {
    let world = World::new();
    let never = Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let request = axum::http::Request::post(ONE).header("content-length", "70000").body(never).unwrap();
    world.ask_with(crate::Auth::None, request).await.assert_problem(413);
}

#[tokio::test]
async fn the_problem_of_malformed_json_says_where() {
    let answer = World::new().ask("POST", ONE, "{\n \"endpoint\": }").await;
    answer.assert_problem(400);
    assert!(answer.json()["detail"].as_str().unwrap().contains("line 2 column 14"), "{answer:?}");
}

#[tokio::test]
async fn every_error_is_named_at_once() {
    let answer = World::new().ask("POST", ONE, r#"{"endpoint":"x","max_attempts":0,"max_attempt":1}"#).await;
    answer.assert_problem(422);
    assert_eq!(answer.fields(), ["/max_attempt", "/endpoint", "/payload", "/max_attempts"]);
}
