//! The front: requests and answers through payload format 2.0.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clock_system::{SystemClock, SystemRandom};
use howk_local::front::{Front, router};
use howk_local::invoker::http_client;
use parking_lot::Mutex;
use reqwest::Response;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::emulator::{Emulator, Reply};

struct Served {
    emulator: Emulator,
    url: String,
    missing: Arc<Mutex<Vec<String>>>,
    _server: JoinSet<()>,
}

async fn serve(replies: impl IntoIterator<Item = Reply>) -> Served {
    let emulator = Emulator::start(replies).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let missing: Arc<Mutex<Vec<String>>> = Arc::default();
    let reported = Arc::clone(&missing);
    let front = Front {
        function: "enqueue".to_owned(),
        invoker: emulator.invoker.clone(),
        missing: Box::new(move || reported.lock().clone()),
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
    };
    let service = router(front).into_make_service_with_connect_info::<SocketAddr>();
    let mut server = JoinSet::new();
    server.spawn(async move { axum::serve(listener, service).await.unwrap() });
    Served { emulator, url, missing, _server: server }
}

fn headers<'a>(answer: &'a Response, name: &str) -> Vec<&'a str> {
    answer.headers().get_all(name).iter().map(|value| value.to_str().unwrap()).collect()
}

#[tokio::test]
async fn bytes_cookies_and_repeated_headers_pass_both_ways_unchanged() {
    let bytes: Vec<u8> = (0..=255).collect();
    let reply = json!({
        "statusCode": 207, "headers": { "x-answer": "a,b", "Content-Type": "application/octet-stream" },
        "cookies": ["s=1; Path=/", "t=2"], "body": STANDARD.encode(&bytes), "isBase64Encoded": true,
    });
    let served = serve([Reply::Answer(reply.to_string())]).await;
    let sent = http_client()
        .unwrap()
        .put(format!("{}/webhooks/a%2Fb/enqueue?x=1&x=%20", served.url))
        .header("cookie", "k=v; l=w")
        .header("x-odd", "one")
        .header("x-odd", "two")
        .body(bytes.clone());
    let answer = sent.send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 207);
    assert_eq!(headers(&answer, "set-cookie"), ["s=1; Path=/", "t=2"]);
    assert_eq!(headers(&answer, "x-answer"), ["a,b"]);
    assert_eq!(answer.bytes().await.unwrap(), bytes);
    let asked = served.emulator.asked_times(1).await.remove(0);
    assert_eq!((asked.function.as_str(), asked.kind.as_str()), ("enqueue", "RequestResponse"));
    let event = asked.event;
    assert_eq!(
        (&event["rawPath"], &event["rawQueryString"]),
        (&json!("/webhooks/a%2Fb/enqueue"), &json!("x=1&x=%20"))
    );
    assert_eq!(event["requestContext"]["http"]["method"], "PUT");
    assert_eq!(event["requestContext"]["http"]["sourceIp"], "127.0.0.1");
    assert_eq!((&event["cookies"], &event["headers"]["x-odd"]), (&json!(["k=v", "l=w"]), &json!("one,two")));
    assert_eq!((&event["body"], &event["isBase64Encoded"]), (&json!(STANDARD.encode(&bytes)), &json!(true)));
}

#[tokio::test]
async fn failures_have_api_gateway_s_status() {
    let cases = [
        (Reply::Error, 500),
        (Reply::Throttle, 503),
        (Reply::TooLarge, 413),
        (Reply::Answer(r#"{"statusCode":"x"}"#.to_owned()), 500),
        (Reply::Answer(r#"{"an":"inferred answer"}"#.to_owned()), 200),
    ];
    for (reply, status) in cases {
        let served = serve([reply]).await;
        let answer = reqwest::get(&served.url).await.unwrap();
        assert_eq!(answer.status().as_u16(), status);
        let body: serde_json::Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        assert!(status == 200 || body["message"].is_string(), "{body}");
    }
}

#[tokio::test]
async fn a_request_that_is_too_large_never_reaches_the_function() {
    let served = serve([]).await;
    // Above the front's limit; and below it, but above Lambda's limit once it is base64.
    for size in [10 * 1024 * 1024 + 1, 5 * 1024 * 1024] {
        let answer = http_client().unwrap().post(&served.url).body(vec![0; size]).send().await;
        // A server that refuses early may close the connection while the client still sends.
        assert!(answer.is_err() || answer.unwrap().status() == StatusCode::PAYLOAD_TOO_LARGE, "{size}");
    }
    assert!(served.emulator.asked().is_empty());
}

#[tokio::test]
async fn it_is_ready_when_nothing_is_missing_and_its_function_is_ready() {
    let good = Reply::Answer(r#"{"statusCode":200,"body":"ready"}"#.to_owned());
    let served = serve([Reply::Answer(r#"{"statusCode":503}"#.to_owned()), good]).await;
    served.missing.lock().push("howk.slow is not polled yet".to_owned());
    let url = format!("{}/ready", served.url);
    let answer = reqwest::get(&url).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.text().await.unwrap().contains("howk.slow is not polled yet"));
    assert!(served.emulator.asked().is_empty());
    served.missing.lock().clear();
    assert_eq!(reqwest::get(&url).await.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reqwest::get(&url).await.unwrap().status(), StatusCode::OK);
}
