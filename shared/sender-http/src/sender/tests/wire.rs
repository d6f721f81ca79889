//! What receivers get, byte for byte.

use domain::{Answer, Outcome, PayloadKind, Signatures, TraceParent};

use crate::HttpSender;
use crate::test_receiver::{
    ID, Received, Receiver, header, local_config, local_sender, sealed, send, vault, webhook,
};

async fn received(headers: &[(&str, &str)]) -> Received {
    let receiver = Receiver::answering("200 OK", "").await;
    let mut webhook = webhook(&receiver.url(), b"{}");
    webhook.headers = headers.iter().map(|(name, value)| header(name, value)).collect();
    let outcome = send(&local_sender(), webhook).await;
    assert_eq!(outcome.status(), Some(200), "{outcome:?}");
    receiver.only_request().await
}

#[tokio::test]
async fn the_whole_request() {
    let receiver = Receiver::answering("202 Accepted", "thanks").await;
    let mut webhook = webhook(&receiver.url(), b" {\"a\": 1}\n");
    webhook.headers = vec![header("X-Mine", "1")];
    webhook.signing_secrets = vec![sealed("s3cret")];
    let outcome = send(&local_sender(), webhook).await;
    let expected = Answer { status: 202, excerpt: "thanks".to_owned(), ..Answer::default() };
    assert_eq!(outcome, Outcome::Answered(expected));

    let request = receiver.only_request().await;
    assert!(request.head.starts_with(b"POST /in HTTP/1.1\r\n"));
    assert_eq!(request.body, b" {\"a\": 1}\n");
    let names: Vec<_> = request.headers().into_iter().map(|(name, _)| name).collect();
    let expected = [
        "Content-Type",
        "User-Agent",
        "X-Webhook-Id",
        "X-Webhook-Attempt",
        "X-Webhook-Timestamp",
        "Webhook-Id",
        "Webhook-Timestamp",
        "X-Mine",
        "X-Webhook-Signature",
        "Webhook-Signature",
        "Accept",
        "Host",
        "Content-Length",
    ];
    assert_eq!(names, expected);
    for (name, value) in [
        ("content-type", "application/json"),
        ("user-agent", "howk/1.0"),
        ("x-webhook-id", ID),
        ("x-webhook-attempt", "2"),
        ("x-webhook-timestamp", "1614265330"),
        ("webhook-id", ID),
        ("webhook-timestamp", "1614265330"),
        ("x-mine", "1"),
        ("host", &format!("127.0.0.1:{}", receiver.port)),
        ("content-length", "10"),
    ] {
        assert_eq!(request.all(name), [value], "{name}");
    }
}

#[tokio::test]
async fn the_trace_of_the_webhook_is_the_parent_of_its_requests() {
    let receiver = Receiver::answering("200 OK", "").await;
    let mut traced = webhook(&receiver.url(), b"{}");
    traced.trace = TraceParent::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    let mut own = traced.clone();
    own.headers = vec![header("Traceparent", "the caller's own")];
    send(&local_sender(), traced).await;
    send(&local_sender(), own).await;
    let requests = receiver.requests().await;
    let parents: Vec<_> = requests.iter().map(|request| request.all("traceparent")).collect();
    assert_eq!(parents, [["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"], ["the caller's own"]]);
}

#[tokio::test]
async fn what_is_signed_is_what_arrives() {
    let receiver = Receiver::answering("200 OK", "").await;
    let mut webhook = webhook(&receiver.url(), br#"{"n":9007199254740993}"#);
    webhook.signing_secrets = vec![sealed("old secret")];
    send(&local_sender(), webhook).await;
    let request = receiver.only_request().await;
    // Computed with Python's hmac over "<t>.<body>" and "<id>.<t>.<body>".
    let hex = "683c49acb6f86b4942287e033b716cf0b5318b550561076b514ca04eca785908";
    assert_eq!(request.all("x-webhook-signature"), [format!("t=1614265330,v1={hex}")]);
    assert_eq!(request.all("webhook-signature"), ["v1,B5lhrS9dQnqwfG7XwMXYXTX3hvkXvsRjspr/ezbTTp0="]);
}

#[tokio::test]
async fn w13_bodies_are_never_rewritten() {
    let receiver = Receiver::answering("200 OK", "").await;
    let sender = local_sender();
    let digits = "7".repeat(100);
    let bodies = [
        "9007199254740993",
        "1e308",
        "-0.0",
        "1.10",
        &digits,
        "  [ 1 ,\t2 ]\r\n",
        "{\"a\":1,\"a\":2}",
        "\"<a>&\\u0041\u{2028}é\"",
        "",
        "not json \u{0} at all",
    ];
    for body in bodies {
        send(&sender, webhook(&receiver.url(), body.as_bytes())).await;
    }
    let arrived: Vec<_> = receiver.requests().await.into_iter().map(|request| request.body).collect();
    assert_eq!(arrived, bodies.map(|body| body.as_bytes().to_vec()));
    assert_eq!(receiver.accepts(), 1);
}

#[tokio::test]
async fn binary_payloads_say_so() {
    let receiver = Receiver::answering("200 OK", "").await;
    let mut webhook = webhook(&receiver.url(), &[0, 255, 13, 10]);
    webhook.payload.kind = PayloadKind::Binary;
    send(&local_sender(), webhook).await;
    let request = receiver.only_request().await;
    assert_eq!(request.all("content-type"), ["application/octet-stream"]);
    assert_eq!(request.body, [0, 255, 13, 10]);
}

#[tokio::test]
async fn p23_the_callers_headers_replace_ours_and_nothing_is_doubled() {
    let request = received(&[
        ("user-AGENT", "mine/2"),
        ("CONTENT-type", "application/cloudevents+json"),
        ("X-WEBHOOK-ID", "own id"),
        ("x-Twice", "first"),
        ("X-TWICE", "second"),
        ("Accept", "text/plain"),
    ])
    .await;
    for (name, value) in [
        ("user-agent", "mine/2"),
        ("content-type", "application/cloudevents+json"),
        ("x-webhook-id", "own id"),
        ("x-twice", "second"),
        ("accept", "text/plain"),
        ("webhook-id", ID),
    ] {
        assert_eq!(request.all(name), [value], "{name}");
    }
}

#[tokio::test]
async fn values_are_sent_as_the_callers_bytes_and_names_in_title_case() {
    let request = received(&[("x-city-NAME", "Zürich ☂"), ("X-Tab", "a\tb"), ("X-Empty", "")]).await;
    let headers = request.headers();
    assert!(headers.contains(&("X-City-Name".to_owned(), "Zürich ☂".as_bytes().to_vec())));
    assert!(headers.contains(&("X-Tab".to_owned(), b"a\tb".to_vec())));
    assert_eq!(request.all("x-empty"), [""]);
}

#[tokio::test]
async fn unsigned_webhooks_carry_no_signature() {
    let request = received(&[]).await;
    assert!(request.all("x-webhook-signature").is_empty() && request.all("webhook-signature").is_empty());
}

#[tokio::test]
async fn a_header_family_is_switched_as_a_whole() {
    let receiver = Receiver::answering("200 OK", "").await;
    for signatures in [Signatures::Original, Signatures::Standard] {
        let config = crate::SenderConfig { signatures, ..local_config() };
        let mut webhook = webhook(&receiver.url(), b"{}");
        webhook.signing_secrets = vec![sealed("s3cret")];
        send(&HttpSender::new(config, vault()).expect("a sender"), webhook).await;
    }
    let requests = receiver.requests().await;
    let count = |request: &Received, prefix: &str| {
        request.headers().iter().filter(|(name, _)| name.starts_with(prefix)).count()
    };
    assert_eq!((count(&requests[0], "X-Webhook-"), count(&requests[0], "Webhook-")), (4, 0));
    assert_eq!((count(&requests[1], "X-Webhook-"), count(&requests[1], "Webhook-")), (0, 3));
}

#[tokio::test]
async fn se_1_an_echoed_secret_is_not_kept() {
    let echo = "you sent Authorization: Bearer s3cret-token, signed with whsec_c2VjcmV0IG9uZQ==";
    let receiver = Receiver::answering("400 Bad Request", echo).await;
    let mut webhook = webhook(&receiver.url(), b"{}");
    webhook.headers = vec![header("Authorization", "Bearer s3cret-token")];
    webhook.signing_secrets = vec![sealed("whsec_c2VjcmV0IG9uZQ==")];
    let outcome = send(&local_sender(), webhook).await;
    let Outcome::Answered(Answer { excerpt, .. }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(excerpt, "you sent Authorization: Bearer [REDACTED], signed with [REDACTED]");
}
