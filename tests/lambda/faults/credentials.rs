//! A server that gives functions short-lived credentials, as a container's host does; each request gets new ones.

use std::time::{Duration, UNIX_EPOCH};

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use clock_system::SystemClock;
use delivery::ports::time::Clock;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The identity that Kafka's listener with tokens knows (`localstack/kafka`).
const ACCESS_KEY: &str = "howk";
const SECRET_ACCESS_KEY: &str = "sesame";

/// A server of credentials.
pub(crate) struct Credentials {
    url: String,
    _server: JoinSet<()>,
}

impl Credentials {
    /// Starts a server whose credentials expire after `lifetime`.
    pub(crate) async fn start(lifetime: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let routes = Router::new().route("/", get(give)).with_state(lifetime);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { url, _server: server }
    }

    /// The variables with which a function signs in to Kafka at this address, which it trusts by this authority.
    pub(crate) fn variables(&self, (brokers, ca_file): (String, String)) -> [(String, String); 4] {
        [
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", self.url.clone()),
            ("HOWK_KAFKA_AUTH", "iam".to_owned()),
            ("HOWK_KAFKA_BROKERS", brokers),
            ("HOWK_KAFKA_CA_FILE", ca_file),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }
}

async fn give(State(lifetime): State<Duration>) -> String {
    let end = SystemClock.now().plus(lifetime);
    json!({
        "AccessKeyId": ACCESS_KEY,
        "SecretAccessKey": SECRET_ACCESS_KEY,
        // Kafka's token check reads the expiry from here.
        "Token": end.as_ms().to_string(),
        "Expiration": humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(end.as_ms())).to_string(),
    })
    .to_string()
}
