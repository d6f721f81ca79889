//! The rules of the headers that a webhook brings: names, values, count, size, and which are the sender's own.
//!
//! Order and case are kept. The sender checks the same again before it sends; what it could not send is refused here.

use domain::{Header, Secret};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::mistakes::{Mistakes, pointer};
use super::object::{Item, text};

/// The most headers that a webhook may bring.
pub const HEADERS_MAX: usize = 100;
/// The most bytes of names and values together.
pub const HEADER_BYTES_MAX: usize = 16 * 1024;

/// Names that only the sender may set: signatures with what they cover, and what frames a message.
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

#[derive(Deserialize)]
#[serde(transparent)]
struct Headers<'a>(#[serde(borrow)] Item<'a>);

/// Reads the `headers` member; absent means none.
pub(super) fn read(raw: Option<&str>, mistakes: &mut Mistakes) -> Vec<Header> {
    let Some(raw) = raw else { return Vec::new() };
    let Ok(Headers(Item::Object(object))) = serde_json::from_str(raw) else {
        mistakes.note("/headers", format!("must be an object of strings, not {}", super::object::kind(raw)));
        return Vec::new();
    };
    if object.has_more() || object.members().len() > HEADERS_MAX {
        mistakes.note("/headers", format!("there are more than {HEADERS_MAX} headers"));
        return Vec::new();
    }
    let mut headers: Vec<Header> = Vec::with_capacity(object.members().len());
    for (name, value) in object.members() {
        let twice = headers.iter().any(|earlier| earlier.name.eq_ignore_ascii_case(name));
        let checked = if twice { Err("is given twice; case does not count".to_owned()) } else { header(name, value) };
        headers.extend(mistakes.take(&pointer("/headers", name), checked));
    }
    let bytes: usize = headers.iter().map(|header| header.name.len() + header.value.reveal().len()).sum();
    if bytes > HEADER_BYTES_MAX {
        mistakes.note("/headers", format!("names and values together are longer than {HEADER_BYTES_MAX} bytes"));
    }
    headers
}

fn header(name: &str, value: &RawValue) -> Result<Header, String> {
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err("the name is not a valid header name".to_owned());
    }
    if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
        return Err("this header is set by the sender and cannot be replaced".to_owned());
    }
    let value = text(value.get())?;
    if value.bytes().any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f) {
        return Err("the value contains a line break or another control character".to_owned());
    }
    Ok(Header { name: name.to_owned(), value: Secret::new(value) })
}

/// A character of RFC 9110's token.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
