//! The sender: one request, within its time and bounds; whatever the endpoint does is an outcome.

use std::sync::Arc;
use std::time::Duration;

use delivery::ports::sender::{Health, Request, Sender};
use delivery::ports::vault::Vault;
use domain::{Answer, Dispatch, EXCERPT_BYTES_MAX, Endpoint, FailureKind, Outcome, SealedHeader, Secret, Webhook};

use crate::generate::{BEGIN, dispatch_to, endpoint, webhook};
use crate::receiver::{FakeReceiver, Latch, Reply};

/// Longer than any answer of a receiver on loopback takes.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A sender that may call loopback, and the vault whose seals it opens.
pub struct SenderUnderTest {
    /// The sender.
    pub sender: Arc<dyn Sender>,
    /// Its vault.
    pub vault: Arc<dyn Vault>,
}

async fn send(sender: &dyn Sender, dispatch: &Dispatch, timeout: Duration) -> Outcome {
    sender.send(Request { dispatch, now: BEGIN, timeout }).await
}

async fn answer(sender: &dyn Sender, endpoint: &Endpoint) -> Answer {
    match send(sender, &dispatch_to(endpoint), TIMEOUT).await {
        Outcome::Answered(answer) => answer,
        Outcome::Failed { kind, detail } => panic!("{kind:?}: {detail}"),
    }
}

/// "one call makes at most one request that carries the body": a POST with the caller's bytes and headers as they are
/// (DL-4), and no second one after a failure.
pub async fn one_call_makes_one_request(made: &SenderUnderTest) {
    let receiver = FakeReceiver::start().await;
    receiver.script("/in", [Reply::status(503), Reply::status(200)]);
    let webhook = Webhook { endpoint: receiver.endpoint("/in"), ..webhook() };
    let value = made.vault.seal(&webhook.config_id, &Secret::new("7")).expect("a seal");
    let headers = vec![SealedHeader { name: "X-Order".to_owned(), value }];
    let dispatch = Dispatch::first(Arc::new(Webhook { headers, ..webhook }));
    let outcome = send(&*made.sender, &dispatch, TIMEOUT).await;
    assert_eq!(outcome.status(), Some(503));
    let requests = receiver.requests();
    assert_eq!(requests.len(), 1, "{requests:#?}");
    assert_eq!((requests[0].method.as_str(), requests[0].path()), ("POST", "/in"));
    assert_eq!(requests[0].body.as_ref(), &*dispatch.webhook.payload.bytes);
    assert_eq!(requests[0].header("x-order").as_deref(), Some("7"));
}

/// Every status is an answer, whatever it means.
pub async fn every_status_is_an_answer(made: &SenderUnderTest) {
    let receiver = FakeReceiver::start().await;
    for status in [200, 204, 400, 404, 410, 429, 500, 599] {
        receiver.script("/in", [Reply::status(status)]);
        assert_eq!(answer(&*made.sender, &receiver.endpoint("/in")).await.status, status);
    }
}

/// "follows no redirect", but returns its location.
pub async fn a_redirect_is_not_followed(made: &SenderUnderTest) {
    let receiver = FakeReceiver::start().await;
    let target = receiver.url("/elsewhere");
    receiver.script("/in", [Reply::status(307).header("Location", &target)]);
    let answered = answer(&*made.sender, &receiver.endpoint("/in")).await;
    assert_eq!((answered.status, answered.location), (307, Some(target)));
    assert_eq!(receiver.requests().len(), 1);
}

/// "reads the answer within bounds".
pub async fn an_answer_is_read_within_bounds(made: &SenderUnderTest) {
    let receiver = FakeReceiver::start().await;
    receiver.script("/in", [Reply::status(500).body(vec![b'x'; 8 << 20]), Reply::status(500).body("why")]);
    let excerpt = answer(&*made.sender, &receiver.endpoint("/in")).await.excerpt;
    assert!((1..=EXCERPT_BYTES_MAX).contains(&excerpt.len()), "{} bytes", excerpt.len());
    assert_eq!(answer(&*made.sender, &receiver.endpoint("/in")).await.excerpt, "why");
}

/// `Answer::retry_after`: how long the endpoint asked to be left alone.
pub async fn the_wish_for_rest_is_told(made: &SenderUnderTest) {
    let receiver = FakeReceiver::start().await;
    receiver.script("/in", [Reply::status(429).header("Retry-After", "7"), Reply::status(429)]);
    let endpoint = receiver.endpoint("/in");
    assert_eq!(answer(&*made.sender, &endpoint).await.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(answer(&*made.sender, &endpoint).await.retry_after, None);
}

/// "ends by `timeout`", and that is an outcome.
pub async fn a_request_ends_by_its_timeout(made: &SenderUnderTest) {
    let receiver = FakeReceiver::start().await;
    receiver.script("/in", [Reply::hang()]);
    let dispatch = dispatch_to(&receiver.endpoint("/in"));
    let sending = send(&*made.sender, &dispatch, Duration::from_millis(200));
    let outcome = tokio::time::timeout(TIMEOUT, sending).await.expect("it ends");
    assert!(outcome.is_timeout(), "{outcome:?}");
    assert_eq!(receiver.requests().len(), 1);
}

/// A slow answer that comes in time is an answer, and requests do not wait for each other.
pub async fn requests_do_not_wait_for_each_other(made: &SenderUnderTest) {
    let (receiver, latch) = (FakeReceiver::start().await, Latch::closed());
    receiver.script("/in", [Reply::status(202).when(&latch)]);
    let endpoint = receiver.endpoint("/in");
    let answers = futures::future::join_all((0..20).map(|_| answer(&*made.sender, &endpoint)));
    let opens = async {
        receiver.received(20).await;
        latch.open();
    };
    let (answers, ()) = tokio::join!(answers, opens);
    assert!(answers.iter().all(|answer| answer.status == 202));
    assert_eq!(receiver.peak("/in"), 20);
}

/// "What an endpoint does is an `Outcome`, never an error": a refused connection is one, too.
pub async fn a_refused_connection_is_an_outcome(made: &SenderUnderTest) {
    let outcome = send(&*made.sender, &dispatch_to(&endpoint()), TIMEOUT).await;
    assert!(matches!(outcome, Outcome::Failed { kind: FailureKind::Connect, .. }), "{outcome:?}");
}

/// "Asks a health URL (GET, 5 s) whether its endpoint can take work".
pub async fn a_health_url_is_asked(made: &SenderUnderTest) {
    let receiver = FakeReceiver::start().await;
    receiver.script("/health", [Reply::status(200), Reply::status(503)]);
    let url = receiver.endpoint("/health");
    assert_eq!((made.sender.probe(&url).await, made.sender.probe(&url).await), (Health::Good, Health::Bad));
    assert_eq!(made.sender.probe(&endpoint()).await, Health::Bad, "connection refused");
    let requests = receiver.requests();
    assert!(requests.iter().all(|request| request.method == "GET" && request.body.is_empty()), "{requests:#?}");
}

/// "Refuses an endpoint whose URL alone shows that the policy forbids it": one that it may call is vetted.
#[expect(clippy::unused_async, reason = "every case is awaited")]
pub async fn an_endpoint_that_may_be_called_is_vetted(made: &SenderUnderTest) {
    assert_eq!(made.sender.vet(&endpoint()), Ok(()));
}
