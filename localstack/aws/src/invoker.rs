//! A client of the public Invoke API. The front, event sources and schedules invoke functions through it, here or in any
//! emulator.

use std::error::Error;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use reqwest::{Client, RequestBuilder, StatusCode};

/// How long an invocation may take: longer than a function may run, which is 15 minutes.
const TIMEOUT: Duration = Duration::from_mins(16);

/// Invokes functions.
#[derive(Debug, Clone)]
pub struct Invoker {
    client: Client,
    url: String,
}

/// The result of an invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invoked {
    /// The function answered.
    Answered(Bytes),
    /// The function failed, or its environment did.
    FunctionError(Bytes),
    /// No concurrency is left.
    Throttled,
    /// The event is larger than the Invoke API takes.
    TooLarge,
    /// It could not be tried, for a reason that may be temporary.
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
        send(request).await
    }

    /// The same as part of a trace, which is in the form of `X-Amzn-Trace-Id`.
    pub async fn invoke_in_trace(&self, function: &str, trace: &str, event: impl Into<Bytes>) -> Invoked {
        let request = self.request(function, "RequestResponse").header("x-amzn-trace-id", trace).body(event.into());
        send(request).await
    }

    /// Hands an event over, for the function to handle later.
    pub async fn invoke_later(&self, function: &str, event: impl Into<Bytes>) -> Invoked {
        let request = self.request(function, "Event").body(event.into());
        send(request).await
    }

    fn request(&self, function: &str, kind: &str) -> RequestBuilder {
        let url = format!("{}/2015-03-31/functions/{function}/invocations", self.url);
        self.client.post(url).header("x-amz-invocation-type", kind)
    }
}

async fn send(request: RequestBuilder) -> Invoked {
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
    // The client wants a TLS provider, although nothing here uses TLS. An error means that the process has one already.
    rustls::crypto::ring::default_provider().install_default().ok();
    Client::builder().no_proxy().timeout(TIMEOUT).pool_max_idle_per_host(64).build().context("no HTTP client")
}

fn classified(status: StatusCode, body: Bytes) -> Invoked {
    match status {
        StatusCode::TOO_MANY_REQUESTS => Invoked::Throttled,
        StatusCode::PAYLOAD_TOO_LARGE => Invoked::TooLarge,
        status if status.is_success() => Invoked::Answered(body),
        status => Invoked::Unavailable(format!("{status}: {}", String::from_utf8_lossy(&body))),
    }
}

/// An error with its causes: the client's own text only says that sending failed.
fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
