//! The headers of a request, in order: ours, then the caller's, which replace ours of the same name, then signatures.
//!
//! Called for every request; [`check_headers`] also by the HTTP API, so that what cannot be sent is refused at the
//! door. Names are compared without case and appear once: the last of several counts. Values are the caller's bytes.

use delivery::ports::sender::Request;
use domain::{Header, PayloadKind};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use thiserror::Error;

use crate::config::Signatures;
use crate::signature::{SecretError, Signer};

/// The most headers that a webhook may bring; receivers refuse more than about this many.
pub const HEADERS_MAX: usize = 100;

const X_ID: HeaderName = HeaderName::from_static("x-webhook-id");
const X_ATTEMPT: HeaderName = HeaderName::from_static("x-webhook-attempt");
const X_TIMESTAMP: HeaderName = HeaderName::from_static("x-webhook-timestamp");
const X_SIGNATURE: HeaderName = HeaderName::from_static("x-webhook-signature");
const STANDARD_ID: HeaderName = HeaderName::from_static("webhook-id");
const STANDARD_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const STANDARD_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// Names that only this crate or the HTTP client may set: signatures with what they cover, and what frames a message.
const RESERVED: [&str; 18] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "trailers",
    "transfer-encoding",
    "upgrade",
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
    "x-webhook-signature",
];

/// Why a header cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HeaderReason {
    /// The name is empty or has a character outside RFC 9110's token.
    #[error("the name is not a valid header name")]
    Name,
    /// The value has a line break, a zero byte or another control character.
    #[error("the value contains a line break or another control character")]
    Value,
    /// The sender itself sets this header.
    #[error("this header is set by the sender and cannot be replaced")]
    Reserved,
    /// There are more than [`HEADERS_MAX`].
    #[error("there are more than {HEADERS_MAX} headers")]
    TooMany,
}

/// A header that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("header \"{}\": {reason}", shown(.name))]
pub struct HeaderError {
    /// The header's name as the caller wrote it; it may hold anything.
    pub name: String,
    /// What is wrong with it. Never holds the value.
    pub reason: HeaderReason,
}

/// Says whether these headers can be sent.
///
/// # Errors
/// The first [`HeaderError`], for the caller's 422.
pub fn check_headers(headers: &[Header]) -> Result<(), HeaderError> {
    check_count(headers)?;
    headers.iter().try_for_each(|header| sendable(header).map(|_| ()))
}

/// Why a request has no headers to send. Its text holds no secret and no value.
#[derive(Debug, Error)]
pub(crate) enum Unsendable {
    #[error("{0}")]
    Header(#[from] HeaderError),
    #[error("{0}")]
    Secret(#[from] SecretError),
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
    pub(crate) fn write(&self, request: &Request<'_>) -> Result<HeaderMap, Unsendable> {
        let webhook = &request.dispatch.webhook;
        check_count(&webhook.headers)?;
        let mut headers = HeaderMap::with_capacity(9 + webhook.headers.len());
        self.write_own(&mut headers, request)?;
        for header in &webhook.headers {
            let (name, value) = sendable(header)?;
            set(&mut headers, name, value)?;
        }
        self.write_signatures(&mut headers, request)?;
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
        if self.signatures.x_webhook {
            set(headers, X_ID, id.clone())?;
            set(headers, X_ATTEMPT, HeaderValue::from(request.dispatch.attempt))?;
            set(headers, X_TIMESTAMP, timestamp.clone())?;
        }
        if self.signatures.standard_webhooks {
            set(headers, STANDARD_ID, id)?;
            set(headers, STANDARD_TIMESTAMP, timestamp)?;
        }
        Ok(())
    }

    fn write_signatures(&self, headers: &mut HeaderMap, request: &Request<'_>) -> Result<(), Unsendable> {
        let webhook = &request.dispatch.webhook;
        if webhook.signing_secrets.is_empty() {
            return Ok(());
        }
        let signer = Signer::new(&webhook.signing_secrets, self.signatures)?;
        let values = signer.sign(webhook.id.as_str(), request.now.as_secs(), &webhook.payload.bytes);
        for (name, text) in [(X_SIGNATURE, values.x_webhook), (STANDARD_SIGNATURE, values.standard)] {
            if let Some(text) = text {
                set(headers, name, HeaderValue::try_from(text).map_err(|_| Unsendable::TooLarge)?)?;
            }
        }
        Ok(())
    }
}

fn check_count(headers: &[Header]) -> Result<(), HeaderError> {
    match headers.get(HEADERS_MAX) {
        None => Ok(()),
        Some(header) => Err(HeaderError { name: header.name.clone(), reason: HeaderReason::TooMany }),
    }
}

/// Sets a header in its place; the map's own bound makes this fail rather than panic.
fn set(headers: &mut HeaderMap, name: HeaderName, value: HeaderValue) -> Result<(), Unsendable> {
    headers.try_insert(name, value).map(|_| ()).map_err(|_| Unsendable::TooLarge)
}

/// The caller's header as it goes out, marked so that no log prints it and no HPACK table keeps it.
fn sendable(header: &Header) -> Result<(HeaderName, HeaderValue), HeaderError> {
    let error = |reason| HeaderError { name: header.name.clone(), reason };
    let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| error(HeaderReason::Name))?;
    if RESERVED.contains(&name.as_str()) {
        return Err(error(HeaderReason::Reserved));
    }
    let value = HeaderValue::from_bytes(header.value.reveal().as_bytes());
    let mut value = value.map_err(|_| error(HeaderReason::Value))?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// A name for a text: escaped, and short.
fn shown(name: &str) -> String {
    name.chars().take(64).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests;
