//! A fake of AWS Secrets Manager: it returns the secrets that a test put into it, and records its requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

/// A secret's ARN and a stage.
pub(crate) type Place = (String, &'static str);

/// The value of a secret at a stage.
#[derive(Debug, Clone)]
pub(crate) enum Stored {
    Text(String),
    Bytes,
    /// A request for it is refused with this code.
    Refused(&'static str),
}

/// Secrets Manager.
pub(crate) struct FakeSecretStore {
    pub(crate) url: String,
    shelf: Arc<Shelf>,
    _server: JoinSet<()>,
}

struct Shelf {
    stored: BTreeMap<Place, Stored>,
    asked: Mutex<Vec<(String, String)>>,
    regions: Mutex<BTreeSet<String>>,
    /// No request is answered before this many are there at the same time.
    together: Barrier,
}

impl FakeSecretStore {
    /// Returns these secrets, once `together` requests are there at the same time.
    pub(crate) async fn start(stored: impl IntoIterator<Item = (Place, Stored)>, together: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shelf = Arc::new(Shelf {
            stored: stored.into_iter().collect(),
            asked: Mutex::default(),
            regions: Mutex::default(),
            together: Barrier::new(together),
        });
        let routes = Router::new().route("/", post(answer)).with_state(Arc::clone(&shelf));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { url, shelf, _server: server }
    }

    /// The ARN and stage of every request, sorted.
    pub(crate) fn asked(&self) -> Vec<(String, String)> {
        let mut asked = self.shelf.asked.lock().clone();
        asked.sort();
        asked
    }

    /// The regions that requests were signed for.
    pub(crate) fn regions(&self) -> BTreeSet<String> {
        self.shelf.regions.lock().clone()
    }

    /// AWS settings that reach it, with made-up credentials.
    pub(crate) fn aws(&self) -> SdkConfig {
        aws_at(&self.url)
    }

    /// The variables with which a function's process reaches it, with made-up credentials.
    pub(crate) fn variables(&self) -> [(&'static str, String); 3] {
        [
            ("AWS_ENDPOINT_URL_SECRETS_MANAGER", self.url.clone()),
            ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
        ]
    }
}

/// Settings for an AWS on this machine.
pub(crate) fn aws_at(url: &str) -> SdkConfig {
    let identity = Credentials::new("AKIDEXAMPLE", "secret", None, None, "test");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(url)
        .credentials_provider(SharedCredentialsProvider::new(identity))
        .build()
}

async fn answer(State(shelf): State<Arc<Shelf>>, headers: HeaderMap, body: Bytes) -> Response {
    let header = |name: &str| headers.get(name).unwrap().to_str().unwrap().to_owned();
    assert_eq!(header("x-amz-target"), "secretsmanager.GetSecretValue");
    let signed_for = header("authorization");
    let region = signed_for.split('/').nth(2).unwrap().to_owned();
    assert!(signed_for.contains("/secretsmanager/aws4_request"), "{signed_for}");
    shelf.regions.lock().insert(region);
    let wanted: Value = serde_json::from_slice(&body).unwrap();
    let part = |name: &str| wanted[name].as_str().unwrap().to_owned();
    let (arn, stage) = (part("SecretId"), part("VersionStage"));
    shelf.asked.lock().push((arn.clone(), stage.clone()));
    shelf.together.wait().await;
    let found = shelf.stored.iter().find(|((stored, at), _)| *stored == arn && *at == stage);
    match found.map(|(_, stored)| stored) {
        Some(Stored::Text(text)) => json!({ "ARN": arn, "SecretString": text }).to_string().into_response(),
        Some(Stored::Bytes) => json!({ "ARN": arn, "SecretBinary": "aGk=" }).to_string().into_response(),
        Some(Stored::Refused(code)) => refusal(code),
        None => refusal("ResourceNotFoundException"),
    }
}

fn refusal(code: &str) -> Response {
    let body = json!({ "__type": code, "Message": "as the test wants" }).to_string();
    (StatusCode::BAD_REQUEST, [("x-amzn-errortype", code)], body).into_response()
}
