//! Signing in to Kafka by tokens of MSK's IAM, and what becomes of clients when their tokens end.
//!
//! Kafka's listener for it (`localstack/services`) ends a connection with the token that opened it, unless the client signs
//! in again. A token ends with its credentials, here after seconds.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use aws_credential_types::Credentials;
use aws_credential_types::provider::future::ProvideCredentials as Provided;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use clock_system::SystemClock;
use delivery::ports::log::{Feed, Log};
use delivery::ports::time::Clock;
use delivery::{Fault, FaultKind};
use domain::{Lane, Position, Record, Topic};
use log_kafka::{Auth, IamTokens, KafkaConfig, KafkaFeed, KafkaLog, Security, create_topics, delete_topics};
use settings::{Environment, ProcessEnvironment};
use testkit::contract::run;
use testkit::generate::dispatch;

use super::second::{Second, serve};
use super::secure::{listener, setting};
use super::{fresh_config, fresh_specs};

const PREFIX: &str = "TOKENS_PREFIX";
/// A refusal is reported when the timeout of the request has passed, so it is short.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long credentials live.
const LIFE: Duration = Duration::from_secs(2);

/// An identity whose credentials end soon, and are made anew whenever they are asked for.
#[derive(Debug)]
struct Brief {
    secret: &'static str,
    /// How long the credentials are valid: by what they say to Kafka, and by what they say to the client.
    lives: (Duration, Duration),
}

impl Brief {
    const OURS: Self = Self { secret: "sesame", lives: (LIFE, LIFE) };

    fn tokens(self) -> Auth {
        let provider = SharedCredentialsProvider::new(self);
        Auth::Tokens(Arc::new(IamTokens::of_provider("eu-west-1".to_owned(), provider, Arc::new(SystemClock))))
    }
}

impl ProvideCredentials for Brief {
    fn provide_credentials<'a>(&'a self) -> Provided<'a>
    where
        Self: 'a,
    {
        let now = SystemClock.now();
        let (for_kafka, for_client) = (now.plus(self.lives.0), now.plus(self.lives.1));
        let ends = UNIX_EPOCH + Duration::from_millis(for_client.as_ms());
        Provided::ready(Ok(Credentials::new(
            "howk",
            self.secret,
            Some(for_kafka.as_ms().to_string()),
            Some(ends),
            "test",
        )))
    }
}

/// The same topics and groups, over the broker's listener with tokens.
async fn by_token(identity: Brief, config: &KafkaConfig) -> KafkaConfig {
    let ca_file = Some(setting("ssl.truststore.location").await);
    let security = Security { auth: identity.tokens(), tls: true, ca_file };
    let brokers = vec![listener("TOKEN").await];
    KafkaConfig { brokers, security, request_timeout: TIMEOUT, ..config.clone() }
}

/// Waits until what is given out now has ended, and some.
async fn until_ended() {
    let ended = SystemClock.now().plus(LIFE + Duration::from_millis(500));
    while SystemClock.now() < ended {
        SystemClock.sleep(ended.since(SystemClock.now())).await;
    }
}

/// The producer, a reader, a member of a group and an asker.
async fn use_every_client(log: &KafkaLog, feed: &KafkaFeed) {
    let record = Record::Dispatch(Lane::Fast, dispatch());
    let at = log.publish(vec![record.clone()]).await.expect("it is acknowledged").remove(0);
    let page = log.read(Topic::Pending, at, 10).await.expect("it can be read");
    assert_eq!(page.records[0].value.as_ref().ok(), Some(&record));
    let fetched = feed.next(1).await.expect("the member gets it").remove(0);
    assert_eq!(fetched.position, at);
    assert_eq!(log.lag(Topic::Pending).await.expect("the group is known"), 1);
    feed.commit(Position { offset: at.offset + 1, ..at }).await.expect("the member may commit");
    assert_eq!(log.lag(Topic::Pending).await.expect("the group is known"), 0);
}

#[test]
fn every_client_outlives_the_token_that_it_signed_in_with() {
    run(async {
        let plain = fresh_config();
        let specs = fresh_specs(&plain);
        create_topics(&plain, &specs).await.expect("the topics are made");
        let config = by_token(Brief::OURS, &plain).await;
        let log = KafkaLog::connect(config, Arc::new(SystemClock)).await.expect("it signs in");
        let feed = log.join(Topic::Pending).expect("a member");
        use_every_client(&log, &feed).await;
        for _ in 0..2 {
            until_ended().await;
            use_every_client(&log, &feed).await;
        }
        drop((feed, log));
        delete_topics(&plain, &specs).await.expect("they are gone");
    });
}

async fn refusal(identity: Brief) -> String {
    let config = by_token(identity, &fresh_config()).await;
    let fault: Fault = KafkaLog::connect(config, Arc::new(SystemClock)).await.expect_err("it is refused");
    let text = format!("{fault}: {fault:?}");
    assert_eq!(fault.kind, FaultKind::Permanent, "{text}");
    assert!(!text.contains("hunter2") && !text.contains("sesame"), "{text}");
    text
}

#[test]
fn why_a_token_is_refused_is_told() {
    run(async {
        let wrong = refusal(Brief { secret: "hunter2", ..Brief::OURS }).await;
        assert!(wrong.contains("the token is not signed with a key that may sign in"), "Kafka's words: {wrong}");
        // A client whose clock is late.
        let ended = refusal(Brief { lives: (Duration::ZERO, LIFE), ..Brief::OURS }).await;
        assert!(ended.contains("the token has expired"), "Kafka's words: {ended}");
        let known = refusal(Brief { lives: (Duration::ZERO, Duration::ZERO), ..Brief::OURS }).await;
        assert!(known.contains("unexpired token"), "the client's words: {known}");
    });
}

/// Not a test: what the test below runs in a process of its own.
#[test]
#[ignore = "the test beside it runs it"]
fn the_second_process() {
    let variables = ProcessEnvironment.variables();
    let Some(prefix) = variables.get(PREFIX) else { return };
    let plain = KafkaConfig::new(super::brokers()).prefixed(prefix);
    run(async move {
        let config = by_token(Brief::OURS, &plain).await;
        serve(KafkaLog::connect(config, Arc::new(SystemClock)).await.expect("it signs in")).await;
    });
}

#[test]
fn a_process_that_was_frozen_until_its_token_had_ended_goes_on() {
    let orders = ["publish", "read", "ask", "fetch"];
    run(async {
        let config = fresh_config();
        create_topics(&config, &fresh_specs(&config)).await.expect("the topics are made");
        let log = KafkaLog::connect(config.clone(), Arc::new(SystemClock)).await.expect("Kafka answers");
        let to_fetch = || log.publish(vec![Record::Dispatch(Lane::Fast, dispatch())]);
        let prefix = config.topics.pending.strip_suffix("howk.pending").expect("a prefix").to_owned();
        let mut second = Second::start("log_kafka::tokens::the_second_process", [(PREFIX, prefix)]);
        to_fetch().await.expect("it is acknowledged");
        for order in orders {
            second.order(order);
            assert_eq!(second.answer(), "done", "{order} before it is frozen");
        }
        for first in 0..orders.len() {
            second.signal("-STOP");
            until_ended().await;
            to_fetch().await.expect("it is acknowledged");
            second.signal("-CONT");
            for order in orders.iter().cycle().skip(first).take(orders.len()) {
                second.order(order);
                assert_eq!(second.answer(), "done", "{order} when it has thawed");
            }
        }
    });
}
