//! Requests that must not be made, names, and what failures may say.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use clock_system::SystemRandom;
use delivery::ports::sender::Sender;
use domain::{Endpoint, FailureKind, Outcome, Secret, Verdict};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use vault_xchacha::XChaChaVault;

use crate::test_receiver::{Receiver, header, local_config, local_sender, sealed, send, send_within, vault, webhook};
use crate::{AddressPolicy, HttpSender, NameLookup, SenderConfig};

/// Says the same of every name.
#[derive(Debug)]
enum Names {
    Are(Vec<&'static str>),
    AreUnknown,
    NeverAnswer,
}

#[async_trait]
impl NameLookup for Names {
    async fn lookup(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        match self {
            Self::Are(addresses) => Ok(addresses.iter().map(|text| text.parse().expect("an address")).collect()),
            Self::AreUnknown => Err(io::Error::other("no such name")),
            Self::NeverAnswer => std::future::pending().await,
        }
    }
}

fn sender(config: SenderConfig, names: Names) -> HttpSender {
    HttpSender::with_lookup(config, vault(), Arc::new(names)).expect("a sender")
}

fn failure(outcome: Outcome) -> (FailureKind, String) {
    match outcome {
        Outcome::Failed { kind, detail } => (kind, detail),
        Outcome::Answered(answer) => panic!("{answer:?}"),
    }
}

#[tokio::test]
async fn literal_addresses_are_refused_before_anything_is_dialled() {
    let receiver = Receiver::answering("200 OK", "").await;
    let sender = HttpSender::new(SenderConfig::default(), vault()).expect("a sender");
    let port = receiver.port;
    for host in ["127.0.0.1", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "localhost", "a.localhost."] {
        let url = format!("http://{host}:{port}/");
        let (kind, detail) = failure(send(&sender, webhook(&url, b"{}")).await);
        assert_eq!(kind, FailureKind::AddressRefused, "{host}: {detail}");
        let endpoint = Endpoint::parse(&url).expect("an endpoint");
        assert_eq!(sender.vet(&endpoint).expect_err("refused").reason, detail);
    }
    assert_eq!(receiver.accepts(), 0);
}

#[tokio::test]
async fn a_name_with_a_private_address_is_refused_and_the_address_is_not_shown() {
    let receiver = Receiver::answering("200 OK", "").await;
    let url = format!("http://hooks.example:{}/", receiver.port);
    for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fd00:ec2::254"] {
        let sender = sender(SenderConfig::default(), Names::Are(vec![address]));
        assert_eq!(sender.vet(&Endpoint::parse(&url).expect("an endpoint")), Ok(()));
        let (kind, detail) = failure(send(&sender, webhook(&url, b"{}")).await);
        assert_eq!(kind, FailureKind::AddressRefused, "{detail}");
        assert!(detail.starts_with("the host name resolves to ") && !detail.contains(address), "{detail}");
    }
    assert_eq!(receiver.accepts(), 0);
}

#[tokio::test]
async fn one_refused_address_refuses_the_name() {
    let receiver = Receiver::answering("200 OK", "").await;
    let denied = vec!["10.0.0.0/8".parse().expect("a network")];
    let address_policy = AddressPolicy { denied, ..local_config().address_policy };
    let config = SenderConfig { address_policy, ..local_config() };
    let url = format!("http://hooks.example:{}/", receiver.port);
    for mixed in [["127.0.0.1", "10.0.0.1"], ["10.0.0.1", "127.0.0.1"]] {
        let sender = sender(config.clone(), Names::Are(mixed.to_vec()));
        let (kind, _) = failure(send(&sender, webhook(&url, b"{}")).await);
        assert_eq!(kind, FailureKind::AddressRefused);
    }
    assert_eq!(receiver.accepts(), 0);
    let sender = sender(config, Names::Are(vec!["127.0.0.1"]));
    assert_eq!(send(&sender, webhook(&url, b"{}")).await.status(), Some(200));
    assert_eq!(receiver.only_request().await.all("host"), [format!("hooks.example:{}", receiver.port)]);
}

#[tokio::test]
async fn names_without_an_address() {
    for (names, expected) in [
        (Names::AreUnknown, "could not resolve the host name: no such name"),
        (Names::Are(Vec::new()), "could not resolve the host name: it has no address"),
    ] {
        let sender = sender(SenderConfig::default(), names);
        let outcome = send(&sender, webhook("https://hooks.example/?token=s3cret", b"{}")).await;
        assert_eq!(failure(outcome), (FailureKind::Dns, expected.to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_lookup_has_its_own_bound_and_the_total_deadline_covers_it() {
    let sender = sender(SenderConfig::default(), Names::NeverAnswer);
    let url = "https://hooks.example/";
    let outcome = send_within(&sender, webhook(url, b"{}"), Duration::from_secs(30)).await;
    assert_eq!(failure(outcome), (FailureKind::Dns, "could not resolve the host name within 5s".to_owned()));
    let outcome = send_within(&sender, webhook(url, b"{}"), Duration::from_secs(2)).await;
    assert_eq!(failure(outcome), (FailureKind::Timeout, "no answer within 2s".to_owned()));
}

#[tokio::test]
async fn a_refused_connection_shows_no_secret() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let mut webhook = webhook(&format!("http://127.0.0.1:{port}/in?token=s3cret#s3cret"), b"s3cret");
    webhook.headers = vec![header("Authorization", "Bearer s3cret")];
    webhook.signing_secrets = vec![sealed("s3cret")];
    let outcome = send(&local_sender(), webhook).await;
    assert_eq!(failure(outcome), (FailureKind::Connect, "could not connect: connection refused".to_owned()));
}

#[tokio::test]
async fn a_secret_sealed_with_a_lost_key_is_not_sent_and_may_be_retried() {
    let receiver = Receiver::answering("200 OK", "").await;
    let key = Secret::new("another deployment's key");
    let vault = XChaChaVault::new(&key, &[], Arc::new(SystemRandom)).expect("a vault");
    let sender = HttpSender::new(local_config(), Arc::new(vault)).expect("a sender");
    let mut webhook = webhook(&receiver.url(), b"{}");
    webhook.signing_secrets = vec![sealed("s3cret")];
    let outcome = send(&sender, webhook).await;
    assert_eq!((outcome.verdict(&[]), outcome.is_unsent()), (Verdict::Retryable, true));
    let (kind, detail) = failure(outcome);
    assert_eq!(kind, FailureKind::Sealed);
    assert!(detail.contains("which is not among the secrets keys of this deployment"), "{detail}");
    assert_eq!(receiver.accepts(), 0);
}

#[tokio::test]
async fn a_damaged_seal_is_not_sent_and_not_retried() {
    let receiver = Receiver::answering("200 OK", "").await;
    let mut webhook = webhook(&receiver.url(), b"{}");
    webhook.signing_secrets = vec![domain::Sealed::new("no seal")];
    let outcome = send(&local_sender(), webhook).await;
    assert_eq!((outcome.verdict(&[]), outcome.is_unsent()), (Verdict::Unrecoverable, true));
    assert_eq!(failure(outcome), (FailureKind::Unsendable, "its sealed secrets are damaged".to_owned()));
    assert_eq!(receiver.accepts(), 0);
}

#[tokio::test]
async fn a_receiver_without_tls_is_a_tls_failure() {
    for greeting in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"220 mail.example ESMTP\r\n", b""] {
        let (_tasks, port) = plain_text(greeting).await;
        let url = format!("https://127.0.0.1:{port}/in?token=s3cret");
        let (kind, detail) = failure(send(&local_sender(), webhook(&url, b"{}")).await);
        assert_eq!(kind, FailureKind::Tls, "{detail}");
        assert!(detail.starts_with("could not secure the connection: ") && !detail.contains("s3cret"), "{detail}");
    }
}

/// Greets in plain text, as a mail server or an HTTP server on the wrong port does, and hangs up.
async fn plain_text(greeting: &'static [u8]) -> (JoinSet<()>, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let read = stream.read(&mut [0; 4096]).await.expect("a greeting");
            assert_ne!(read, 0);
            stream.write_all(greeting).await.expect("the client listens");
        }
    });
    (tasks, port)
}

#[tokio::test]
async fn a_request_that_cannot_be_sent_names_the_reason_and_is_not_sent() {
    let receiver = Receiver::answering("200 OK", "").await;
    let sender = local_sender();
    for (name, value) in [
        ("X-A", "s3cret\r\nX-Injected: 1"),
        ("X-A\r\nX-Injected", "s3cret"),
        ("X A", "s3cret"),
        ("Host", "s3cret"),
        ("transfer-encoding", "chunked"),
        ("Webhook-Signature", "v1,s3cret"),
    ] {
        let mut webhook = webhook(&receiver.url(), b"{}");
        webhook.headers = vec![header(name, value)];
        let (kind, detail) = failure(send(&sender, webhook).await);
        assert_eq!(kind, FailureKind::Unsendable);
        assert!(detail.starts_with("header \"") && !detail.contains("s3cret") && !detail.contains('\n'), "{detail}");
    }
    let mut unsignable = webhook(&receiver.url(), b"{}");
    unsignable.signing_secrets = vec![sealed("good"), sealed("whsec_s3cret!")];
    let (kind, detail) = failure(send(&sender, unsignable).await);
    assert_eq!(kind, FailureKind::Unsendable);
    assert!(detail.contains("not valid base64") && !detail.contains("s3cret"), "{detail}");
    assert_eq!(receiver.accepts(), 0);
}

#[test]
fn a_user_agent_must_be_sendable() {
    let config = SenderConfig { user_agent: "a\nb".to_owned(), ..SenderConfig::default() };
    assert!(HttpSender::new(config, vault()).is_err());
}
