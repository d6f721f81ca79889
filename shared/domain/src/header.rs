//! The headers of a webhook and their rules: names, values, count, size, and which names only the sender sets.
//!
//! The API calls it when a webhook is accepted, the sender before every request. A header that could not be sent is thus
//! refused before it is accepted, in the same words. No message holds a value (SE-1). Names that differ in case alone are
//! one name; whether a name may stand twice is decided where headers are read.

use std::fmt;

use thiserror::Error;

use crate::secret::{Sealed, Secret};

/// The most headers that a webhook may bring: common servers refuse requests with more than about a hundred.
pub const HEADERS_MAX: usize = 100;
/// The most bytes of names and values together: common servers refuse more than 8 to 16 KiB.
pub const HEADER_BYTES_MAX: usize = 16 * 1024;
/// The longest name that an error shows, in characters. The name is the caller's text and may be of any length.
const SHOWN_NAME_MAX: usize = 64;

/// Names that only the sender may set, lower case: signatures with what they cover, and what frames a message.
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

/// A header that the caller wants on the request; case and order are kept.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    /// The name, in the caller's case.
    pub name: String,
    /// The value. It may be a credential, so it is never printed.
    pub value: Secret,
}

/// A header of an accepted webhook: its name is readable, its value only the sender can unseal.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedHeader {
    /// The name, in the caller's case.
    pub name: String,
    /// The sealed value.
    pub value: Sealed,
}

/// Why a header cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HeaderReason {
    /// The name is empty or has a character outside RFC 9110's token.
    #[error("the name is not a valid header name")]
    Name,
    /// The sender itself sets this header.
    #[error("this header is set by the sender and cannot be replaced")]
    Reserved,
    /// The value has a line break, a zero byte or another control character.
    #[error("the value contains a line break or another control character")]
    Value,
}

/// Why the headers of a webhook cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// One of them cannot be sent.
    #[error("header \"{}\": {reason}", shown(.name))]
    Unsendable {
        /// The header's name as the caller wrote it; it may hold anything.
        name: String,
        /// What is wrong with it.
        reason: HeaderReason,
    },
    /// There are more than [`HEADERS_MAX`].
    #[error("there are more than {HEADERS_MAX} headers")]
    TooMany,
    /// They are longer than [`HEADER_BYTES_MAX`].
    #[error("names and values together are longer than {HEADER_BYTES_MAX} bytes")]
    TooLarge,
}

impl Header {
    /// Says whether this header can be sent.
    ///
    /// # Errors
    /// A [`HeaderReason`] that says what to change.
    pub fn check(&self) -> Result<(), HeaderReason> {
        if self.name.is_empty() || !self.name.bytes().all(is_token) {
            return Err(HeaderReason::Name);
        }
        if RESERVED.iter().any(|reserved| self.name.eq_ignore_ascii_case(reserved)) {
            return Err(HeaderReason::Reserved);
        }
        if self.value.reveal().bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
            return Err(HeaderReason::Value);
        }
        Ok(())
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: [REDACTED]", self.name)
    }
}

impl fmt::Debug for SealedHeader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: [SEALED]", self.name)
    }
}

/// Says whether these headers can be sent, each of them and all together.
///
/// # Errors
/// The first [`HeaderError`].
pub fn check_headers(headers: &[Header]) -> Result<(), HeaderError> {
    check_headers_total(headers)?;
    let unsendable = |header: &Header, reason| HeaderError::Unsendable { name: header.name.clone(), reason };
    headers.iter().try_for_each(|header| header.check().map_err(|reason| unsendable(header, reason)))
}

/// Says whether these headers are few and short enough together.
///
/// # Errors
/// [`HeaderError::TooMany`] or [`HeaderError::TooLarge`].
pub fn check_headers_total(headers: &[Header]) -> Result<(), HeaderError> {
    if headers.len() > HEADERS_MAX {
        return Err(HeaderError::TooMany);
    }
    let bytes: usize = headers.iter().map(|header| header.name.len() + header.value.reveal().len()).sum();
    if bytes > HEADER_BYTES_MAX { Err(HeaderError::TooLarge) } else { Ok(()) }
}

/// A character of RFC 9110's token.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A name for a text: escaped, and short.
fn shown(name: &str) -> String {
    name.chars().take(SHOWN_NAME_MAX).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(name: &str, value: &str) -> Header {
        Header { name: name.to_owned(), value: Secret::new(value) }
    }

    fn reason(name: &str, value: &str) -> Option<HeaderReason> {
        header(name, value).check().err()
    }

    #[test]
    fn what_can_be_sent_and_what_cannot() {
        for (name, value) in [
            ("X-A", ""),
            ("x-webhook-id", "mine"),
            ("Authorization", "Bearer s3cret"),
            ("X-City", "Zürich"),
            ("X-Tab", "a\tb"),
            ("!#$%&'*+-.^_`|~09", "token"),
        ] {
            assert_eq!(reason(name, value), None, "{name}");
        }
        for name in ["", " ", "X A", "X-A:", "X-Ä", "X-A\r\nX-B", "X\0A", "(x)"] {
            assert_eq!(reason(name, "v"), Some(HeaderReason::Name), "{name:?}");
        }
        for value in ["a\r\nX-Injected: 1", "a\nb", "a\rb", "a\0b", "\u{7f}", "\u{1}"] {
            assert_eq!(reason("X-A", value), Some(HeaderReason::Value), "{value:?}");
        }
        for name in RESERVED.iter().copied().chain(["Host", "CONTENT-LENGTH", "X-Webhook-Signature"]) {
            assert_eq!(reason(name, "v"), Some(HeaderReason::Reserved), "{name}");
        }
    }

    #[test]
    fn there_are_bounds_of_count_and_size() {
        let headers: Vec<_> = (0..=HEADERS_MAX).map(|number| header(&format!("X-{number}"), "v")).collect();
        assert_eq!(check_headers(&headers[..HEADERS_MAX]), Ok(()));
        assert_eq!(check_headers(&headers), Err(HeaderError::TooMany));
        let largest = "v".repeat(HEADER_BYTES_MAX - 6);
        assert_eq!(check_headers(&[header("X-A", &largest), header("X-B", "")]), Ok(()));
        assert_eq!(check_headers(&[header("X-A", &largest), header("X-B", "v")]), Err(HeaderError::TooLarge));
    }

    #[test]
    fn an_error_names_the_header_and_hides_its_value() {
        let error = check_headers(&[header("Authorization", "Bearer s3cret\n")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "header \"Authorization\": the value contains a line break or another control character"
        );
        let error = check_headers(&[header(&"\r\n".repeat(500), "v")]).unwrap_err();
        assert!(error.to_string().len() < 250 && !error.to_string().contains('\n'));
        assert_eq!(format!("{:?}", header("Authorization", "s3cret")), "Authorization: [REDACTED]");
    }

    proptest! {
        #[test]
        fn hostile_headers_never_panic(name in any::<String>(), value in any::<String>()) {
            let _verdict = check_headers(&[header(&name, &value)]);
        }
    }
}
