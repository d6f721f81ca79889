//! Finding the brokers of an MSK cluster, asked of a server on this machine that says what AWS would.

use std::sync::Arc;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use clock_system::SystemClock;
use delivery::{Fault, FaultKind};
use domain::Secret;
use log_kafka::{Auth, IamTokens, MskCluster, Scram, Security};
use testkit::contract::run;
use testkit::receiver::{FakeReceiver, Reply};

const ARN: &str = "arn:aws:kafka:eu-west-1:123456789012:cluster/howk/0a1b2c3d-4e5f-6789-abcd-ef0123456789-3";
const PATH: &str = "/v1/clusters/arn%3Aaws%3Akafka%3Aeu-west-1%3A123456789012%3Acluster%2Fhowk%2F\
                    0a1b2c3d-4e5f-6789-abcd-ef0123456789-3/bootstrap-brokers";
const EVERY_LISTENER: &str = r#"{
    "bootstrapBrokerString": "b-1.howk:9092,b-2.howk:9092",
    "bootstrapBrokerStringTls": "b-1.howk:9094,b-2.howk:9094",
    "bootstrapBrokerStringSaslScram": "b-1.howk:9096, b-2.howk:9096",
    "bootstrapBrokerStringSaslIam": "b-1.howk:9098,b-2.howk:9098",
    "bootstrapBrokerStringPublicSaslIam": "b-1-public.howk:9198"
}"#;

fn security(auth: Auth) -> Security {
    Security { auth, tls: true, ca_file: None }
}

fn scram() -> Auth {
    Auth::Scram(Scram { username: "howk".to_owned(), password: Secret::new("hunter2") })
}

fn iam() -> Auth {
    Auth::Tokens(Arc::new(IamTokens::of_process(None, Arc::new(SystemClock))))
}

/// A fake AWS on this machine, with an invented identity.
fn aws(server: &FakeReceiver) -> SdkConfig {
    let identity = Credentials::new("AKIDEXAMPLE", "secret", None, None, "test");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .endpoint_url(server.url(""))
        .credentials_provider(SharedCredentialsProvider::new(identity))
        .build()
}

/// What comes of asking a server that answers so.
async fn ask(reply: Reply, security: &Security) -> Result<Vec<String>, Fault> {
    let server = FakeReceiver::start().await;
    server.script(PATH, std::iter::repeat_n(reply, 3));
    let brokers = MskCluster::parse(ARN).expect("an ARN").brokers_by(&aws(&server), security).await;
    let asked = server.requests();
    let first = asked.first().expect("it is asked");
    assert_eq!((first.method.as_str(), first.path()), ("GET", PATH));
    let signature = first.header("authorization").expect("it is signed");
    assert!(signature.contains("/eu-west-1/kafka/aws4_request"), "in the cluster's region: {signature}");
    brokers
}

fn refusal(status: u16, code: &str) -> Reply {
    Reply::status(status).header("x-amzn-errortype", code).body(r#"{"message":"no"}"#)
}

#[test]
fn every_way_to_sign_in_has_its_listener() {
    run(async {
        let plain = Security { tls: false, ..security(Auth::None) };
        let ways = [(plain, 9092), (security(Auth::None), 9094), (security(scram()), 9096), (security(iam()), 9098)];
        for (security, port) in ways {
            let brokers = ask(Reply::status(200).body(EVERY_LISTENER), &security).await.expect("it has them all");
            assert_eq!(brokers, [format!("b-1.howk:{port}"), format!("b-2.howk:{port}")]);
        }
    });
}

#[test]
fn a_listener_that_the_cluster_lacks_is_named() {
    run(async {
        let only_iam = Reply::status(200).body(r#"{"bootstrapBrokerStringSaslIam":"b-1.howk:9098"}"#);
        for (auth, name) in [(scram(), "SASL/SCRAM"), (Auth::None, "TLS without sign-in")] {
            let fault = ask(only_iam.clone(), &security(auth)).await.expect_err("it has no such listener");
            assert_eq!(fault.kind, FaultKind::Permanent);
            assert!(fault.to_string().ends_with(&format!("3 has no listener for {name}")), "{fault}");
        }
    });
}

#[test]
fn who_may_not_ask_is_told_what_to_allow() {
    run(async {
        for code in ["AccessDeniedException", "ForbiddenException"] {
            let fault = ask(refusal(403, code), &security(iam())).await.expect_err("access is denied");
            assert_eq!(fault.kind, FaultKind::Permanent);
            assert!(fault.to_string().ends_with("allow it kafka:GetBootstrapBrokers"), "{fault}");
        }
        let fault = ask(refusal(404, "NotFoundException"), &security(iam())).await.expect_err("there is none");
        assert_eq!((fault.kind, fault.to_string()), (FaultKind::Permanent, format!("there is no MSK cluster {ARN}")));
    });
}

#[test]
fn what_may_pass_is_asked_again_and_then_transient() {
    run(async {
        let fault = ask(refusal(503, "ServiceUnavailableException"), &security(iam())).await.expect_err("it is down");
        assert_eq!(fault.kind, FaultKind::Transient);
    });
}

#[test]
fn what_is_no_arn_of_a_cluster_is_refused_before_any_request() {
    for text in [
        "",
        "b-1.howk:9092",
        "arn:aws:kafka:eu-west-1:123456789012:cluster/howk",
        "arn:aws:kafka::123456789012:cluster/howk/id",
        "arn:aws:kafka:eu-west-1:123456789012:topic/howk/id/name",
        "arn:aws:sqs:eu-west-1:123456789012:cluster/howk/id",
    ] {
        let fault = MskCluster::parse(text).expect_err(text);
        assert!(fault.to_string().contains("is not the ARN of an MSK cluster"), "{fault}");
        assert_eq!(fault.kind, FaultKind::Permanent);
    }
}
