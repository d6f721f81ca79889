//! TLS: certificates and names are always verified.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use async_trait::async_trait;
use domain::{FailureKind, Outcome};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use reqwest::Certificate;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

use crate::test_receiver::{Receiver, Reply, local_config, local_sender, send, vault, webhook};
use crate::{HttpSender, NameLookup};

/// Every name is this machine.
#[derive(Debug)]
struct Loopback;

#[async_trait]
impl NameLookup for Loopback {
    async fn lookup(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])
    }
}

/// A receiver named `hooks.example`, and the certificate that it signed itself.
async fn receiver() -> (Receiver, Certificate) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["hooks.example".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.expect("versions").with_no_client_auth();
    let config = config.with_single_cert(vec![cert.der().clone()], key).expect("a server");
    let tls = TlsAcceptor::from(Arc::new(config));
    let receiver = Receiver::start_with(Reply::with_body("200 OK", "safe"), Some(tls)).await;
    (receiver, Certificate::from_der(cert.der()).expect("a certificate"))
}

/// A sender that trusts one more certificate.
fn trusting(certificate: Certificate) -> HttpSender {
    let sender = HttpSender::with_lookup(local_config(), vault(), Arc::new(Loopback)).expect("a sender");
    let resolver = super::super::PolicyResolver { policy: Arc::clone(&sender.policy), lookup: Arc::new(Loopback) };
    let client = super::super::client_builder(&local_config(), resolver).tls_certs_merge([certificate]);
    HttpSender { client: client.build().expect("a client"), ..sender }
}

async fn tls_failure(sender: &HttpSender, url: &str) -> String {
    let outcome = send(sender, webhook(url, b"s3cret")).await;
    let Outcome::Failed { kind: FailureKind::Tls, detail } = outcome else { panic!("{outcome:?}") };
    detail
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_gets_no_request() {
    let (receiver, _) = receiver().await;
    let detail = tls_failure(&local_sender(), &format!("https://127.0.0.1:{}/?s3cret", receiver.port)).await;
    assert_eq!(detail, "could not secure the connection: invalid peer certificate: UnknownIssuer");
    assert!(receiver.requests().await.is_empty());
}

#[tokio::test]
async fn the_certificate_must_be_the_hosts() {
    let (receiver, certificate) = receiver().await;
    let sender = trusting(certificate);
    let detail = tls_failure(&sender, &format!("https://other.example:{}/?s3cret", receiver.port)).await;
    assert!(detail.contains("certificate") && !detail.contains("s3cret"), "{detail}");
    assert!(receiver.requests().await.is_empty());

    let outcome = send(&sender, webhook(&format!("https://hooks.example:{}/", receiver.port), b"{}")).await;
    assert_eq!(outcome.status(), Some(200), "{outcome:?}");
    assert_eq!(receiver.only_request().await.body, b"{}");
}
