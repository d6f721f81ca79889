//! The sender itself: one shared HTTP client, one request per attempt.
//!
//! Called through the port. It makes at most one request per call: the client's own retries and redirects are off. The
//! total deadline runs from before the name lookup to the last byte that is read.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use delivery::ports::sender::{AddressRefused, Health, Request, Sender};
use delivery::ports::vault::{Unsealable, Vault};
use domain::{Answer, Endpoint, FailureKind, Outcome};
use reqwest::header::{HeaderValue, USER_AGENT};
use reqwest::{Client, ClientBuilder, Method, StatusCode};

use crate::address::AddressPolicy;
use crate::answer;
use crate::config::{SenderConfig, SenderError};
use crate::failure::{failed, outcome};
use crate::headers::HeaderWriter;
use crate::resolver::{NameLookup, PolicyResolver, SystemLookup};
use crate::unsealed::Unsealed;

/// How long a health URL may take altogether. The scheduler waits for it, so it is short.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest health document that is read, in bytes: it holds one figure, and a longer one is not a health document.
const PROBE_BYTES_MAX: usize = 64 * 1024;
/// The highest load figure, of 1, that still means "ready": an endpoint busier than that gets no released backlog.
const PROBE_LOAD_MAX: f64 = 0.8;

/// The port `sender` over HTTP. Cheap to share, expensive to make: it holds the connections.
#[derive(Clone)]
pub struct HttpSender {
    client: Client,
    policy: Arc<AddressPolicy>,
    writer: HeaderWriter,
    vault: Arc<dyn Vault>,
}

impl HttpSender {
    /// Makes a sender that looks names up as the operating system does.
    ///
    /// # Errors
    /// [`SenderError`] when the deployment is wrong.
    pub fn new(config: SenderConfig, vault: Arc<dyn Vault>) -> Result<Self, SenderError> {
        Self::with_lookup(config, vault, Arc::new(SystemLookup))
    }

    /// Makes a sender with another source of addresses; the address policy judges them too.
    ///
    /// # Errors
    /// [`SenderError`] when the deployment is wrong.
    pub fn with_lookup(
        config: SenderConfig,
        vault: Arc<dyn Vault>,
        lookup: Arc<dyn NameLookup>,
    ) -> Result<Self, SenderError> {
        let policy = Arc::new(config.address_policy.clone());
        let resolver = PolicyResolver { policy: Arc::clone(&policy), lookup };
        let client = client_builder(&config, resolver).build().map_err(SenderError::Client)?;
        let user_agent = HeaderValue::try_from(config.user_agent).map_err(|_| SenderError::UserAgent)?;
        let writer = HeaderWriter { user_agent, signatures: config.signatures };
        Ok(Self { client, policy, writer, vault })
    }

    /// The request to send, with the secrets that it holds, or why it cannot be sent.
    fn prepare(&self, request: &Request<'_>) -> Result<(reqwest::Request, Unsealed), Outcome> {
        let webhook = &request.dispatch.webhook;
        let unsendable = |detail: String| failed(FailureKind::Unsendable, detail);
        let url = webhook.endpoint.parsed();
        let vetted = self.policy.check_url(url);
        vetted.map_err(|refused| failed(FailureKind::AddressRefused, refused.reason))?;
        let unsealed = Unsealed::of(webhook, &*self.vault);
        let unsealed = unsealed.map_err(|error| match error {
            Unsealable::UnknownKey { .. } => failed(FailureKind::Sealed, error.to_string()),
            Unsealable::Broken => unsendable(error.to_string()),
        })?;
        let headers = self.writer.write(request, &unsealed).map_err(|error| unsendable(error.to_string()))?;
        let mut prepared = reqwest::Request::new(Method::POST, url.clone());
        *prepared.headers_mut() = headers;
        let body = Body(Arc::clone(&webhook.payload.bytes));
        *prepared.body_mut() = Some(Bytes::from_owner(body).into());
        Ok((prepared, unsealed))
    }

    /// What a health URL answers; `None` when the answer cannot be read.
    async fn request_health(&self, health_url: &Endpoint) -> Option<Health> {
        let url = health_url.parsed();
        self.policy.check_url(url).ok()?;
        let mut request = reqwest::Request::new(Method::GET, url.clone());
        request.headers_mut().insert(USER_AGENT, self.writer.user_agent.clone());
        let mut response = self.client.execute(request).await.ok()?;
        if response.status() != StatusCode::OK {
            return None;
        }
        let mut document = Vec::new();
        while let Some(chunk) = response.chunk().await.ok()? {
            if document.len().saturating_add(chunk.len()) > PROBE_BYTES_MAX {
                return None;
            }
            document.extend_from_slice(&chunk);
        }
        Some(health(&document))
    }
}

fn client_builder(config: &SenderConfig, resolver: PolicyResolver) -> ClientBuilder {
    // Another part of the process may have installed a provider already; any provider works.
    rustls::crypto::ring::default_provider().install_default().ok();
    Client::builder()
        .connect_timeout(config.connect_timeout)
        .pool_idle_timeout(config.pool_idle_timeout)
        .pool_max_idle_per_host(config.max_idle_per_host)
        .dns_resolver(resolver)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .tcp_nodelay(true)
        .http1_title_case_headers()
        // A receiver that writes malformed headers has still answered.
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_ignore_invalid_headers_in_responses(true)
}

#[async_trait]
impl Sender for HttpSender {
    async fn send(&self, request: Request<'_>) -> Outcome {
        let (prepared, unsealed) = match self.prepare(&request) {
            Ok(both) => both,
            Err(unsent) => return unsent,
        };
        let mut deadline = std::pin::pin!(tokio::time::sleep(request.timeout));
        let answered = tokio::select! {
            biased;
            answered = self.client.execute(prepared) => answered,
            () = &mut deadline => {
                return failed(FailureKind::Timeout, format!("no answer within {:?}", request.timeout));
            }
        };
        match answered {
            Ok(response) => {
                let answer = answer::read(response, request.now, deadline).await;
                let location = answer.location.map(|location| unsealed.hide(location));
                Outcome::Answered(Answer { excerpt: unsealed.hide(answer.excerpt), location, ..answer })
            }
            Err(error) => outcome(error),
        }
    }

    fn vet(&self, endpoint: &Endpoint) -> Result<(), AddressRefused> {
        self.policy.check_url(endpoint.parsed())
    }

    async fn probe(&self, health_url: &Endpoint) -> Health {
        let health = tokio::time::timeout(PROBE_TIMEOUT, self.request_health(health_url)).await;
        health.ok().flatten().unwrap_or(Health::Bad)
    }
}

/// The accepted bytes, lent to the HTTP client without a copy.
struct Body(Arc<[u8]>);

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Reads the load figure of a health document that came with 200.
fn health(document: &[u8]) -> Health {
    let parsed: Option<serde_json::Value> = serde_json::from_slice(document).ok();
    let load = parsed.as_ref().and_then(|value| value.as_object()?.get("load"));
    match load.map(serde_json::Value::as_f64) {
        None => Health::Good,
        Some(Some(load)) if load <= PROBE_LOAD_MAX => Health::Good,
        Some(_) => Health::Bad,
    }
}

#[cfg(test)]
mod tests;
