//! Kafka over TLS with SASL/SCRAM, as MSK has it.

use std::sync::Arc;
use std::time::Duration;

use clock_system::SystemClock;
use delivery::ports::log::{Feed, Log};
use delivery::{Fault, FaultKind};
use domain::{Lane, Record, Secret, Topic};
use log_kafka::{Auth, KafkaConfig, KafkaLog, Scram, Security, create_topics, delete_topics, verify_topics};
use rdkafka::admin::{AdminClient, AdminOptions, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use testkit::contract::run;
use testkit::generate::dispatch;

use super::{brokers, fresh_config, fresh_specs};

/// A refusal is reported when the timeout of the request has passed, so it is short.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What the broker says of itself.
pub(super) async fn setting(name: &str) -> String {
    let mut client = ClientConfig::new();
    client.set("bootstrap.servers", brokers().join(","));
    let admin: AdminClient<DefaultClientContext> = client.create().expect("an admin client");
    let broker = admin.inner().fetch_metadata(Some(""), TIMEOUT).expect("Kafka answers");
    let broker = ResourceSpecifier::Broker(broker.brokers()[0].id());
    let described = admin.describe_configs([&broker], &AdminOptions::new()).await.expect("Kafka answers");
    let settings = described.into_iter().next().expect("one broker").expect("it may be read");
    let found = settings.entries.into_iter().find(|entry| entry.name == name).and_then(|entry| entry.value);
    found.unwrap_or_else(|| panic!("this Kafka has no {name}: start it with localstack/services up"))
}

/// Where a listener of the broker's is.
pub(super) async fn listener(name: &str) -> String {
    let listeners = setting("listeners").await;
    let mut named = listeners.split(',').filter_map(|listener| listener.split_once("://"));
    let found = named.find(|(found, _)| *found == name).map(|(_, address)| address.to_owned());
    found.unwrap_or_else(|| panic!("this Kafka has no listener {name}: start it with localstack/services up"))
}

/// Topics and groups of its own, over the broker's listener with TLS.
async fn secure(password: &str) -> KafkaConfig {
    let address = listener("SECURE").await;
    let scram = Scram { username: "howk".to_owned(), password: Secret::new(password) };
    let ca_file = Some(setting("ssl.truststore.location").await);
    let security = Security { auth: Auth::Scram(scram), tls: true, ca_file };
    KafkaConfig { brokers: vec![address], security, request_timeout: TIMEOUT, ..fresh_config() }
}

async fn refusal(config: KafkaConfig) -> Fault {
    KafkaLog::connect(config, Arc::new(SystemClock)).await.expect_err("it is refused")
}

/// Every client of the adapter: the admin's, the producer, a reader, an asker and a member of a group.
#[test]
fn every_client_signs_in_over_tls() {
    run(async {
        let config = secure("sesame").await;
        let specs = fresh_specs(&config);
        create_topics(&config, &specs).await.expect("the topics are made");
        verify_topics(&config, &specs).await.expect("they are as they should be");
        let log = KafkaLog::connect(config.clone(), Arc::new(SystemClock)).await.expect("it signs in");
        let feed = log.join(Topic::Pending).expect("a member");
        let record = Record::Dispatch(Lane::Fast, dispatch());
        let at = log.publish(vec![record.clone()]).await.expect("it is acknowledged").remove(0);
        let page = log.read(Topic::Pending, at, 10).await.expect("it can be read");
        assert_eq!(page.records[0].value.as_ref().ok(), Some(&record));
        let fetched = feed.next(1).await.expect("the member gets it");
        assert_eq!(fetched[0].position, at);
        assert_eq!(log.lag(Topic::Pending).await.expect("the group is known"), 1);
        delete_topics(&config, &specs).await.expect("they are gone");
    });
}

#[test]
fn a_wrong_password_is_told_and_not_shown() {
    run(async {
        let fault = refusal(secure("hunter2").await).await;
        let text = format!("{fault}: {fault:?}");
        assert_eq!(fault.kind, FaultKind::Permanent, "{text}");
        assert!(text.contains("uthentication") && !text.contains("hunter2"), "{text}");
    });
}

#[test]
fn an_authority_that_the_system_does_not_know_is_not_trusted() {
    run(async {
        let config = secure("sesame").await;
        let security = Security { ca_file: None, ..config.security };
        let fault = refusal(KafkaConfig { security, ..config }).await;
        let text = format!("{fault}: {fault:?}");
        assert_eq!(fault.kind, FaultKind::Permanent, "{text}");
        assert!(text.contains("certificate"), "{text}");
    });
}
