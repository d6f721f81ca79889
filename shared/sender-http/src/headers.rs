//! The headers of a request, in order: ours, then the caller's, which replace ours of the same name, then signatures.
//!
//! Called for every request. Which headers can be sent is `domain`'s rule. Names are compared without case and appear
//! once: the last of several counts. Values are the caller's bytes.

use delivery::ports::sender::Request;
use domain::{Header, HeaderError, PayloadKind, Signatures, check_headers};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use thiserror::Error;

use crate::signature::{Signer, SignerError};
use crate::unsealed::Unsealed;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const X_ID: HeaderName = HeaderName::from_static("x-webhook-id");
const X_ATTEMPT: HeaderName = HeaderName::from_static("x-webhook-attempt");
const X_TIMESTAMP: HeaderName = HeaderName::from_static("x-webhook-timestamp");
const X_SIGNATURE: HeaderName = HeaderName::from_static("x-webhook-signature");
const STANDARD_ID: HeaderName = HeaderName::from_static("webhook-id");
const STANDARD_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const STANDARD_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// Why a request has no headers to send. Its text holds no secret and no value.
#[derive(Debug, Error)]
pub(crate) enum Unsendable {
    #[error("{0}")]
    Header(#[from] HeaderError),
    #[error("{0}")]
    Secret(#[from] SignerError),
    #[error("the request's headers are too large")]
    TooLarge,
}

/// Writes the headers of requests.
#[derive(Debug, Clone)]
pub(crate) struct HeaderWriter {
    pub(crate) user_agent: HeaderValue,
    pub(crate) signatures: Signatures,
}

impl HeaderWriter {
    /// The headers of one request.
    pub(crate) fn write(&self, request: &Request<'_>, unsealed: &Unsealed) -> Result<HeaderMap, Unsendable> {
        check_headers(&unsealed.headers)?;
        let mut headers = HeaderMap::with_capacity(9 + unsealed.headers.len());
        self.write_own(&mut headers, request)?;
        for header in &unsealed.headers {
            let (name, value) = sendable(header)?;
            set(&mut headers, name, value)?;
        }
        self.write_signatures(&mut headers, request, unsealed)?;
        Ok(headers)
    }

    fn write_own(&self, headers: &mut HeaderMap, request: &Request<'_>) -> Result<(), Unsendable> {
        let webhook = &request.dispatch.webhook;
        let content_type = match webhook.payload.kind {
            PayloadKind::Json => HeaderValue::from_static("application/json"),
            PayloadKind::Binary => HeaderValue::from_static("application/octet-stream"),
        };
        let id = HeaderValue::from_str(webhook.id.as_str()).map_err(|_| Unsendable::TooLarge)?;
        let timestamp = HeaderValue::from(request.now.as_secs());
        set(headers, CONTENT_TYPE, content_type)?;
        set(headers, USER_AGENT, self.user_agent.clone())?;
        if let Some(trace) = &webhook.trace {
            set(headers, TRACEPARENT, HeaderValue::from_str(trace.as_str()).map_err(|_| Unsendable::TooLarge)?)?;
        }
        if self.signatures.has_original() {
            set(headers, X_ID, id.clone())?;
            set(headers, X_ATTEMPT, HeaderValue::from(request.dispatch.attempt))?;
            set(headers, X_TIMESTAMP, timestamp.clone())?;
        }
        if self.signatures.has_standard() {
            set(headers, STANDARD_ID, id)?;
            set(headers, STANDARD_TIMESTAMP, timestamp)?;
        }
        Ok(())
    }

    fn write_signatures(
        &self,
        headers: &mut HeaderMap,
        request: &Request<'_>,
        unsealed: &Unsealed,
    ) -> Result<(), Unsendable> {
        if unsealed.signing_secrets.is_empty() {
            return Ok(());
        }
        let webhook = &request.dispatch.webhook;
        let signer = Signer::new(&unsealed.signing_secrets, self.signatures)?;
        let values = signer.sign(webhook.id.as_str(), request.now.as_secs(), &webhook.payload.bytes);
        for (name, text) in [(X_SIGNATURE, values.x_webhook), (STANDARD_SIGNATURE, values.standard)] {
            if let Some(text) = text {
                set(headers, name, HeaderValue::try_from(text).map_err(|_| Unsendable::TooLarge)?)?;
            }
        }
        Ok(())
    }
}

/// Sets a header in its place; the map's own bound makes this fail rather than panic.
fn set(headers: &mut HeaderMap, name: HeaderName, value: HeaderValue) -> Result<(), Unsendable> {
    headers.try_insert(name, value).map(|_| ()).map_err(|_| Unsendable::TooLarge)
}

/// The caller's checked header as it is sent, marked so that no log prints it and no HPACK table keeps it.
fn sendable(header: &Header) -> Result<(HeaderName, HeaderValue), Unsendable> {
    let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| Unsendable::TooLarge)?;
    let value = HeaderValue::from_bytes(header.value.reveal().as_bytes());
    let mut value = value.map_err(|_| Unsendable::TooLarge)?;
    value.set_sensitive(true);
    Ok((name, value))
}

#[cfg(test)]
mod tests;
