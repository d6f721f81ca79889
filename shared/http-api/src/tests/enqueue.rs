//! A1 and A2: what is accepted reaches the log as it came, in one call.

use delivery::FaultKind;
use domain::{Sealed, SealedHeader};

use super::world::{World, vault};

const ONE: &str = "/webhooks/shop:1/enqueue";
const BATCH: &str = "/webhooks/shop:1/enqueue/batch";
const MINIMAL: &str = r#"{"endpoint":"https://a.example/","payload":null}"#;

#[tokio::test]
async fn one_webhook_is_accepted_as_it_came() {
    let world = World::new();
    let body = r#"{"headers":{"X-B":"2","a":"é","X-A":"1"},"endpoint":"https://a.example/x?q=1","max_attempts":3,
        "payload":{ "n" : 1.10,"n":9007199254740993 },"signing_secret":"s1","signing_secrets":["s2"],
        "retry_on_status":[404]}"#;
    let answer = world.ask("POST", ONE, body).await;
    assert_eq!(answer.status, 202);
    assert_eq!(answer.header("content-type"), "application/json");
    let accepted = world.accepted();
    let webhook = accepted.first().unwrap();
    assert_eq!(answer.json(), serde_json::json!({ "webhook_id": webhook.id.as_str(), "status": "pending" }));
    assert_eq!(webhook.config_id.as_str(), "shop:1");
    assert_eq!(webhook.endpoint.url(), "https://a.example/x?q=1");
    assert_eq!(&*webhook.payload.bytes, br#"{ "n" : 1.10,"n":9007199254740993 }"#, "DL-4");
    let vault = vault();
    let reveal = |sealed: &Sealed| vault.unseal(&webhook.config_id, sealed).unwrap().reveal().to_owned();
    let pair = |header: &SealedHeader| (header.name.clone(), reveal(&header.value));
    let expected = [("X-B", "2"), ("a", "é"), ("X-A", "1")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(webhook.headers.iter().map(pair).collect::<Vec<_>>(), expected);
    assert_eq!(webhook.signing_secrets.iter().map(reveal).collect::<Vec<_>>(), ["s1", "s2"]);
    assert_eq!((webhook.max_attempts, &*webhook.retry_on_status), (3, &[404][..]));
}

#[tokio::test]
async fn what_is_not_named_gets_its_default_and_content_type_does_not_matter() {
    let world = World::new();
    let request = axum::http::Request::post(ONE).header("content-type", "text/plain").body(MINIMAL.into()).unwrap();
    assert_eq!(world.ask_with(crate::Auth::None, request).await.status, 202);
    let webhook = world.accepted().remove(0);
    assert_eq!((webhook.max_attempts, webhook.headers.len(), webhook.signing_secrets.len()), (20, 0, 0));
    assert_eq!(&*webhook.payload.bytes, b"null");
}

#[tokio::test]
async fn one_key_in_one_tenant_is_one_webhook_and_in_two_tenants_two() {
    let world = World::new();
    let body = r#"{"endpoint":"https://a.example/","payload":1,"idempotency_key":"k"}"#;
    let id = async |path: &str| world.ask("POST", path, body).await.json()["webhook_id"].as_str().unwrap().to_owned();
    let (first, again, other) = (id(ONE).await, id(ONE).await, id("/webhooks/shop:2/enqueue").await);
    assert_eq!(first, again);
    assert_ne!(first, other);
    let batch = world.ask("POST", BATCH, format!("{{\"webhooks\":[{body},{MINIMAL},{body}]}}")).await.json();
    assert_eq!(batch["webhooks"][0]["webhook_id"], first);
    assert_eq!(batch["webhooks"][2]["webhook_id"], first);
    assert_ne!(batch["webhooks"][1]["webhook_id"], first);
}

#[tokio::test]
async fn a_batch_that_is_accepted_whole_is_one_call_to_the_log() {
    let world = World::new();
    for count in [1, 100] {
        let body = format!("{{\"webhooks\":[{}]}}", vec![MINIMAL; count].join(","));
        let answer = world.ask("POST", BATCH, body).await;
        assert_eq!(answer.status, 202);
        let json = answer.json();
        assert_eq!((&json["accepted"], &json["failed"]), (&count.into(), &0.into()));
        for (index, item) in json["webhooks"].as_array().unwrap().iter().enumerate() {
            assert_eq!((&item["index"], &item["status"]), (&index.into(), &"pending".into()));
        }
    }
    let published: Vec<_> = world.published.lock().unwrap().iter().map(Vec::len).collect();
    assert_eq!(published, [1, 100]);
}

#[tokio::test]
async fn w9_a_mixed_batch_is_answered_item_by_item() {
    let world = World::new();
    let body = format!(
        r#"{{"webhooks":[{{"payload":1}},{MINIMAL},{{"endpoint":"http://169.254.169.254/","payload":1}},
        {{"endpoint":"https://a.example/","payload":1,"require_script":true}},7,{MINIMAL}]}}"#
    );
    let answer = world.ask("POST", BATCH, body).await;
    assert_eq!(answer.status, 207);
    assert_eq!(answer.header("content-type"), "application/json");
    let json = answer.json();
    assert_eq!((&json["accepted"], &json["failed"]), (&2.into(), &4.into()));
    let items = json["webhooks"].as_array().unwrap();
    let indexes: Vec<_> = items.iter().map(|item| item["index"].as_u64().unwrap()).collect();
    assert_eq!(indexes, [0, 1, 2, 3, 4, 5]);
    let kind = |index: usize| items[index]["error"]["type"].as_str().unwrap_or("none");
    assert_eq!(kind(0), "urn:howk:problem:validation");
    assert_eq!(kind(1), "none");
    assert_eq!(kind(2), "urn:howk:problem:address_refused");
    assert_eq!(kind(3), "urn:howk:problem:script_required");
    assert_eq!(items[0]["error"]["errors"][0]["field"], "/webhooks/0/endpoint");
    assert_eq!(items[2]["error"]["errors"][0]["field"], "/webhooks/2/endpoint");
    assert_eq!(items[3]["error"]["errors"][0]["field"], "/webhooks/3/require_script");
    assert_eq!(items[4]["error"]["errors"][0]["field"], "/webhooks/4");
    assert!(items[0].get("webhook_id").is_none() && items[1].get("error").is_none());
    assert_eq!(world.published.lock().unwrap().iter().map(Vec::len).collect::<Vec<_>>(), [2]);
}

#[tokio::test]
async fn a_batch_without_one_good_item_is_a_problem_that_answers_item_by_item() {
    let world = World::new();
    let answer = world.ask("POST", BATCH, r#"{"webhooks":[{},{"endpoint":"x","payload":1}]}"#).await;
    answer.assert_problem(422);
    let json = answer.json();
    assert_eq!((&json["accepted"], &json["failed"]), (&0.into(), &2.into()));
    assert_eq!(json["webhooks"][1]["error"]["errors"][0]["field"], "/webhooks/1/endpoint");
    assert!(world.saw_nothing());
}

#[tokio::test]
async fn p10_without_the_logs_acknowledgement_nothing_is_accepted() {
    for (kind, status, retry_after) in
        [(FaultKind::OverLimit, 503, "1"), (FaultKind::Transient, 503, "5"), (FaultKind::Permanent, 500, "")]
    {
        let world = World::new();
        world.fail(kind);
        for (path, body) in [(ONE, MINIMAL.to_owned()), (BATCH, format!("{{\"webhooks\":[{MINIMAL}]}}"))] {
            let answer = world.ask("POST", path, body).await;
            answer.assert_problem(status);
            assert_eq!(answer.header("retry-after"), retry_after);
            assert!(!String::from_utf8_lossy(&answer.body).contains("password"), "SE-1");
        }
    }
}
