//! A client of the public Invoke API: how everything that triggers a function reaches it, here or in any emulator.

use std::error::Error;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use reqwest::{Client, RequestBuilder, StatusCode};

/// Longer than the longest function.
const PATIENCE: Duration = Duration::from_mins(16);

/// Invokes functions.
#[derive(Debug, Clone)]
pub struct Invoker {
    client: Client,
    url: String,
}

/// What came of an invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invoked {
    /// The function answered.
    Answered(Bytes),
    /// The function failed, or its environment did.
    FunctionError(Bytes),
    /// No concurrency is left.
    Throttled,
    /// The event is too large ever to be taken.
    TooLarge,
    /// It could not be tried, for a reason that may pass.
    Unavailable(String),
}

impl Invoker {
    /// A client of the Invoke API at a URL without a slash at its end.
    ///
    /// # Errors
    /// When no HTTP client can be built.
    pub fn new(url: impl Into<String>) -> anyhow::Result<Self> {
        Ok(Self { client: http_client()?, url: url.into() })
    }

    /// Invokes a function and waits for its answer.
    pub async fn invoke(&self, function: &str, event: impl Into<Bytes>) -> Invoked {
        let request = self.request(function, "RequestResponse").body(event.into());
        ask(request).await
    }

    /// The same as part of a trace, as `X-Amzn-Trace-Id` says it.
    pub async fn invoke_in_trace(&self, function: &str, trace: &str, event: impl Into<Bytes>) -> Invoked {
        let request = self.request(function, "RequestResponse").header("x-amzn-trace-id", trace).body(event.into());
        ask(request).await
    }

    /// Hands an event over, to be handled later.
    pub async fn invoke_later(&self, function: &str, event: impl Into<Bytes>) -> Invoked {
        let request = self.request(function, "Event").body(event.into());
        ask(request).await
    }

    fn request(&self, function: &str, kind: &str) -> RequestBuilder {
        let url = format!("{}/2015-03-31/functions/{function}/invocations", self.url);
        self.client.post(url).header("x-amz-invocation-type", kind)
    }
}

async fn ask(request: RequestBuilder) -> Invoked {
    let answer = match request.send().await {
        Ok(answer) => answer,
        Err(error) => return Invoked::Unavailable(chain(&error)),
    };
    let (status, failed) = (answer.status(), answer.headers().contains_key("x-amz-function-error"));
    match answer.bytes().await {
        Ok(body) if failed => Invoked::FunctionError(body),
        Ok(body) => classified(status, body),
        Err(error) => Invoked::Unavailable(chain(&error)),
    }
}

/// A client for loopback.
///
/// # Errors
/// When none can be built.
pub fn http_client() -> anyhow::Result<Client> {
    // Chooses for the process, unless something else did already. Nothing here uses TLS, but the client asks.
    rustls::crypto::ring::default_provider().install_default().ok();
    Client::builder().no_proxy().timeout(PATIENCE).pool_max_idle_per_host(64).build().context("no HTTP client")
}

fn classified(status: StatusCode, body: Bytes) -> Invoked {
    match status {
        StatusCode::TOO_MANY_REQUESTS => Invoked::Throttled,
        StatusCode::PAYLOAD_TOO_LARGE => Invoked::TooLarge,
        status if status.is_success() => Invoked::Answered(body),
        status => Invoked::Unavailable(format!("{status}: {}", String::from_utf8_lossy(&body))),
    }
}

/// An error with its causes: a client's own text says only that it could not send.
fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
