use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;

/// Sends bytes and reads until the receiver hangs up.
async fn exchange(receiver: &FakeReceiver, request: &str) -> String {
    let mut stream = TcpStream::connect(receiver.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
}

async fn send(receiver: &FakeReceiver, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(receiver.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn records_what_came_over_the_wire() {
    let receiver = FakeReceiver::start().await;
    let head =
        "POST /in?a=1 HTTP/1.1\r\nhost: x\r\nX-Webhook-ID:  one \r\nx-webhook-id: two\r\nConnection: close\r\n";
    let answer = exchange(&receiver, &format!("{head}Content-Length: 5\r\n\r\nhe\0lo")).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let request = receiver.received(1).await.remove(0);
    assert_eq!((request.method.as_str(), request.target.as_str(), request.path()), ("POST", "/in?a=1", "/in"));
    let names: Vec<_> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["host", "X-Webhook-ID", "x-webhook-id", "Connection", "Content-Length"]);
    assert_eq!(request.all("X-WEBHOOK-id"), ["one", "two"]);
    assert_eq!(request.body.as_ref(), b"he\0lo");
}

#[tokio::test]
async fn reads_a_chunked_body() {
    let receiver = FakeReceiver::start().await;
    let head = "POST /in HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    exchange(&receiver, &format!("{head}3\r\nabc\r\nA;x=1\r\n0123456789\r\n0\r\n\r\n")).await;
    assert_eq!(receiver.received(1).await.remove(0).body.as_ref(), b"abc0123456789");
}

#[tokio::test]
async fn answers_by_the_script_of_the_path() {
    let receiver = FakeReceiver::start().await;
    let busy = Reply::status(429).header("Retry-After", "7").body("later");
    receiver.script("/a", [busy, Reply::status(204)]);
    let first = exchange(&receiver, &get("/a?q=1")).await;
    assert!(first.starts_with("HTTP/1.1 429 ") && first.contains("\r\nRetry-After: 7\r\n"), "{first}");
    assert!(first.ends_with("\r\n\r\nlater"), "{first}");
    for _ in 0..2 {
        assert!(exchange(&receiver, &get("/a")).await.starts_with("HTTP/1.1 204 "), "the last one is repeated");
    }
    assert!(exchange(&receiver, &get("/b")).await.starts_with("HTTP/1.1 200 "));
    assert_eq!((receiver.requests_to("/a").len(), receiver.requests().len()), (3, 4));
}

#[tokio::test]
async fn keeps_a_connection_for_many_requests() {
    let receiver = FakeReceiver::start().await;
    let two = format!("GET /1 HTTP/1.1\r\n\r\n{}", get("/2"));
    let answer = exchange(&receiver, &two).await;
    assert_eq!(answer.matches("HTTP/1.1 200 ").count(), 2);
    assert_eq!(receiver.connections(), 1);
    let paths: Vec<_> = receiver.requests().into_iter().map(|request| request.target).collect();
    assert_eq!(paths, ["/1", "/2"]);
}

#[tokio::test]
async fn holds_answers_back_and_counts_who_waits() {
    let (receiver, latch) = (FakeReceiver::start().await, Latch::closed());
    receiver.script("/slow", [Reply::status(200).when(&latch)]);
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(send(&receiver, &get("/slow")).await);
    }
    receiver.received(3).await;
    assert_eq!((receiver.present("/slow"), receiver.peak("/slow"), receiver.connections()), (3, 3, 3));
    latch.open();
    for mut stream in waiting {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "));
    }
    exchange(&receiver, &get("/slow")).await;
    assert_eq!((receiver.present("/slow"), receiver.peak("/slow")), (0, 3));
}

#[tokio::test]
async fn a_client_that_gives_up_is_not_present() {
    let receiver = FakeReceiver::start().await;
    receiver.script("/hang", [Reply::hang()]);
    let stream = send(&receiver, &get("/hang")).await;
    receiver.received(1).await;
    assert_eq!(receiver.present("/hang"), 1);
    drop(stream);
    while receiver.present("/hang") > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn dropping_it_ends_every_connection() {
    let receiver = FakeReceiver::start().await;
    receiver.script("/hang", [Reply::hang()]);
    let mut stream = send(&receiver, &get("/hang")).await;
    receiver.received(1).await;
    let address = receiver.address();
    drop(receiver);
    let mut answer = Vec::new();
    // A reset is an end, too.
    drop(stream.read_to_end(&mut answer).await);
    assert_eq!(answer, b"");
    assert!(TcpStream::connect(address).await.is_err(), "the port is closed");
}
