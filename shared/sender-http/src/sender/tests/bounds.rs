//! Answers: every bound on what is read, and what slow, broken and endless ones mean.

use std::time::Duration;

use domain::{Answer, FailureKind, Outcome, Verdict};

use crate::test_receiver::{Receiver, Reply, local_sender, send, send_within, webhook};

const OK_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n";

fn answer(outcome: Outcome) -> Answer {
    match outcome {
        Outcome::Answered(answer) => answer,
        Outcome::Failed { kind, detail } => panic!("{kind:?}: {detail}"),
    }
}

fn failure(outcome: Outcome) -> (FailureKind, String) {
    match outcome {
        Outcome::Failed { kind, detail } => (kind, detail),
        Outcome::Answered(answer) => panic!("{answer:?}"),
    }
}

async fn answer_to(reply: &[u8]) -> Answer {
    let receiver = Receiver::start(Reply::Last(reply.to_vec())).await;
    answer(send(&local_sender(), webhook(&receiver.url(), b"{}")).await)
}

#[tokio::test]
async fn no_answer_by_the_deadline_is_a_timeout() {
    for silence in [&b""[..], b"HTTP/1.1 200 OK\r\nX-Slow"] {
        let receiver = Receiver::start(Reply::Hang(silence.to_vec())).await;
        let timeout = Duration::from_millis(200);
        let outcome = send_within(&local_sender(), webhook(&receiver.url(), b"{}"), timeout).await;
        assert!(outcome.is_timeout());
        assert_eq!(failure(outcome).1, "no answer within 200ms");
        assert_eq!(receiver.requests().await.len(), 1);
    }
}

#[tokio::test]
async fn endless_interim_answers_do_not_move_the_deadline() {
    let receiver = Receiver::start(Reply::Hang(b"HTTP/1.1 100 Continue\r\n\r\n".repeat(50))).await;
    let timeout = Duration::from_millis(200);
    assert!(send_within(&local_sender(), webhook(&receiver.url(), b"{}"), timeout).await.is_timeout());
}

#[tokio::test]
async fn p20_the_deadline_covers_the_body_and_the_status_counts() {
    for reply in [Reply::Hang(OK_HEAD.to_vec()), Reply::Trickle(OK_HEAD.to_vec())] {
        let receiver = Receiver::start(reply).await;
        let timeout = Duration::from_millis(300);
        let sender = local_sender();
        let outcome = send_within(&sender, webhook(&receiver.url(), b"{}"), timeout);
        // Well below the bound that the body alone would have.
        let outcome = tokio::time::timeout(Duration::from_millis(900), outcome).await.expect("in time");
        assert_eq!(outcome.verdict(&[]), Verdict::Delivered);
    }
}

#[tokio::test]
async fn a_slow_body_does_not_hold_an_attempt_until_its_deadline() {
    let receiver = Receiver::start(Reply::Trickle(OK_HEAD.to_vec())).await;
    let sender = local_sender();
    let outcome = send_within(&sender, webhook(&receiver.url(), b"{}"), Duration::from_mins(1));
    let outcome = tokio::time::timeout(Duration::from_secs(5), outcome).await.expect("in time");
    let excerpt = answer(outcome).excerpt;
    assert!(!excerpt.is_empty() && excerpt.bytes().all(|byte| byte == b'x'), "what arrived is kept");
}

#[tokio::test]
async fn p20_huge_answers_are_not_read() {
    let chunked = b"HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n3FFFFFFF\r\n".to_vec();
    let until_close = b"HTTP/1.1 500 Oops\r\n\r\n".to_vec();
    let announced = b"HTTP/1.1 500 Oops\r\nContent-Length: 1000000000\r\n\r\n".to_vec();
    for head in [chunked, until_close, announced] {
        let receiver = Receiver::start(Reply::Flood(head)).await;
        let answer = answer(send(&local_sender(), webhook(&receiver.url(), b"{}")).await);
        assert_eq!((answer.status, answer.excerpt.len()), (500, 1024));
        // What the sockets' buffers took, far from the gigabyte.
        assert!(receiver.written() < 32 << 20, "{}", receiver.written());
    }
}

#[tokio::test]
async fn bodies_within_the_bounds_keep_the_connection() {
    let receiver = Receiver::answering("200 OK", &"a".repeat(2048)).await;
    let sender = local_sender();
    for _ in 0..5 {
        let answer = answer(send(&sender, webhook(&receiver.url(), b"{}")).await);
        assert_eq!(answer.excerpt, "a".repeat(1024));
    }
    assert_eq!(receiver.requests().await.len(), 5);
    assert_eq!(receiver.accepts(), 1);
}

#[tokio::test]
async fn bodies_beyond_the_bounds_cost_the_connection() {
    let receiver = Receiver::answering("200 OK", &"a".repeat(100_000)).await;
    let sender = local_sender();
    for _ in 0..2 {
        assert_eq!(answer(send(&sender, webhook(&receiver.url(), b"{}")).await).excerpt.len(), 1024);
    }
    assert_eq!(receiver.accepts(), 2);
}

#[tokio::test]
async fn p20_nothing_is_decompressed() {
    let bomb = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8bab";
    assert_eq!(answer_to(bomb).await.excerpt, "\u{1f}\u{fffd}ab");
}

#[tokio::test]
async fn a_status_counts_although_its_body_breaks() {
    let answer = answer_to(b"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\nhalf").await;
    assert_eq!((answer.status, answer.excerpt.as_str()), (201, "half"));
    let broken = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nnonsense\r\n";
    assert_eq!(answer_to(broken).await.excerpt, "ok");
}

#[tokio::test]
async fn p23_strange_headers_are_still_an_answer() {
    let reply = b"HTTP/1.1 429 Too Many \xe9\r\nX-Latin: caf\xe9\r\nX-Bytes: \xff\xfe\r\nBad Name : x\r\n\
        Retry-After: soon\r\nretry-after: 120\r\nRETRY-AFTER: 1.5\r\nContent-Length: 0\r\n\r\n";
    let answer = answer_to(reply).await;
    assert_eq!((answer.status, answer.retry_after), (429, Some(Duration::from_mins(2))));
}

#[tokio::test]
async fn p24_redirects_are_never_followed() {
    let sender = local_sender();
    let target = Receiver::answering("200 OK", "").await;
    for status in [300_u16, 301, 302, 303, 304, 307, 308] {
        let reply = format!(
            "HTTP/1.1 {status} Moved\r\nLocation: {}?token=s3cret\r\nContent-Length: 0\r\n\r\n",
            target.url()
        );
        let receiver = Receiver::start(Reply::Bytes(reply.into_bytes())).await;
        let outcome = send(&sender, webhook(&receiver.url(), b"{}")).await;
        assert_eq!(outcome.verdict(&[]), Verdict::Unrecoverable, "{status}");
        let answer = answer(outcome);
        assert_eq!((answer.status, answer.location), (status, Some(target.url())));

        let receiver = Receiver::answering(&format!("{status} Moved"), "").await;
        let outcome = send(&sender, webhook(&receiver.url(), b"{}")).await;
        assert_eq!(outcome.verdict(&[]), Verdict::Unrecoverable, "{status}");
        assert_eq!(outcome, Outcome::Answered(Answer { status, ..Answer::default() }));
        assert_eq!(receiver.requests().await.len(), 1);
    }
    assert_eq!(target.accepts(), 0);
}

#[tokio::test]
async fn a_location_is_bounded() {
    let reply = format!("HTTP/1.1 302 Found\r\nLocation: /{}\r\nContent-Length: 0\r\n\r\n", "é".repeat(4000));
    let location = answer_to(reply.as_bytes()).await.location.expect("a location");
    assert_eq!(location.chars().count(), 256);
}

#[tokio::test]
async fn other_protocols_are_a_broken_connection() {
    for reply in [&b""[..], b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 20", b"HTTP/1.1 99999 Huge\r\n\r\n", b"\0\0\0"] {
        let receiver = Receiver::start(Reply::Last(reply.to_vec())).await;
        let (kind, detail) = failure(send(&local_sender(), webhook(&receiver.url(), b"{}")).await);
        assert_eq!(kind, FailureKind::Transport, "{detail}");
        assert!(detail.starts_with("the connection broke: "), "{detail}");
        assert_eq!(receiver.requests().await.len(), 1, "sent once");
    }
}
