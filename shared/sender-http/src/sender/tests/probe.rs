//! What a health URL says.

use delivery::ports::sender::{Health, Sender};
use domain::Endpoint;

use crate::test_receiver::{Receiver, Reply, local_sender, vault};
use crate::{HttpSender, SenderConfig};

async fn probe(receiver: &Receiver) -> Health {
    local_sender().probe(&Endpoint::parse(&receiver.url()).expect("an endpoint")).await
}

#[tokio::test]
async fn ready_means_200_and_no_high_load() {
    let table = [
        ("200 OK", "", Health::Good),
        ("200 OK", "fine", Health::Good),
        ("200 OK", "{}", Health::Good),
        ("200 OK", "{\"status\":\"up\"}", Health::Good),
        ("200 OK", "[0.9]", Health::Good),
        ("200 OK", "{\"load\":0}", Health::Good),
        ("200 OK", "{\"load\":0.8}", Health::Good),
        ("200 OK", "{\"load\":0.81}", Health::Bad),
        ("200 OK", "{\"load\":90}", Health::Bad),
        ("200 OK", "{\"load\":\"high\"}", Health::Bad),
        ("200 OK", "{\"load\":null}", Health::Bad),
        ("204 No Content", "", Health::Bad),
        ("302 Found", "", Health::Bad),
        ("503 Service Unavailable", "{\"load\":0.1}", Health::Bad),
    ];
    for (status, body, expected) in table {
        let receiver = Receiver::answering(status, body).await;
        assert_eq!(probe(&receiver).await, expected, "{status} {body}");
        let request = receiver.only_request().await;
        assert!(request.head.starts_with(b"GET /in HTTP/1.1\r\n"));
        assert_eq!(request.all("user-agent"), ["howk/1.0"]);
    }
}

#[tokio::test]
async fn a_document_that_does_not_end_is_no_health() {
    let receiver = Receiver::start(Reply::Flood(b"HTTP/1.1 200 OK\r\n\r\n".to_vec())).await;
    assert_eq!(probe(&receiver).await, Health::Bad);
    let receiver = Receiver::start(Reply::Last(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}".to_vec())).await;
    assert_eq!(probe(&receiver).await, Health::Bad);
}

#[tokio::test(start_paused = true)]
async fn a_silent_health_url_is_busy_after_five_seconds() {
    let receiver = Receiver::start(Reply::Hang(Vec::new())).await;
    let endpoint = Endpoint::parse(&receiver.url()).expect("an endpoint");
    let sender = local_sender();
    let asked = tokio::time::timeout(std::time::Duration::from_secs(8), sender.probe(&endpoint)).await;
    assert_eq!(asked, Ok(Health::Bad));
}

#[tokio::test]
async fn a_health_url_obeys_the_address_policy() {
    let receiver = Receiver::answering("200 OK", "").await;
    let sender = HttpSender::new(SenderConfig::default(), vault()).expect("a sender");
    let endpoint = Endpoint::parse(&receiver.url()).expect("an endpoint");
    assert_eq!(sender.probe(&endpoint).await, Health::Bad);
    assert_eq!(receiver.accepts(), 0);
}
