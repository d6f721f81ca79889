//! Why a request got no answer, as one of the domain's kinds and a text for people.
//!
//! Called when a request failed. The text holds no URL, no header and no secret (SE-1): it consists of our own words
//! and the innermost cause, which names only sockets and protocols.

use std::error::Error;
use std::io;

use delivery::ports::sender::AddressRefused;
use domain::{FailureKind, Outcome};

use crate::resolver::LookupError;

/// The longest text, in characters.
const DETAIL_CHARS_MAX: usize = 200;

/// An outcome without an answer.
pub(crate) fn failed(kind: FailureKind, detail: impl Into<String>) -> Outcome {
    Outcome::Failed { kind, detail: detail.into() }
}

/// Reads the HTTP client's error.
pub(crate) fn outcome(error: reqwest::Error) -> Outcome {
    let error = error.without_url();
    let (kind, detail) = classify(&error);
    failed(kind, detail.chars().take(DETAIL_CHARS_MAX).collect::<String>())
}

fn classify(error: &reqwest::Error) -> (FailureKind, String) {
    if let Some(AddressRefused { reason }) = cause(error) {
        return (FailureKind::AddressRefused, reason.clone());
    }
    if let Some(lookup) = cause::<LookupError>(error) {
        return (FailureKind::Dns, lookup_text(lookup));
    }
    if let Some(tls) = cause::<rustls::Error>(error) {
        return (FailureKind::Tls, format!("could not secure the connection: {tls}"));
    }
    if error.is_builder() {
        return (FailureKind::Unsendable, "the URL cannot be requested".to_owned());
    }
    if !error.is_connect() {
        return (FailureKind::Transport, format!("the connection broke: {}", innermost(error)));
    }
    if error.is_timeout() {
        return (FailureKind::Connect, "could not connect: timed out".to_owned());
    }
    match cause::<io::Error>(error).map(io::Error::kind) {
        // TCP was connected, and the other side closed it during the TLS handshake.
        Some(io::ErrorKind::UnexpectedEof) => {
            (FailureKind::Tls, format!("could not secure the connection: {}", innermost(error)))
        }
        Some(_) | None => (FailureKind::Connect, format!("could not connect: {}", innermost(error))),
    }
}

fn lookup_text(error: &LookupError) -> String {
    match error {
        LookupError::Failed(source) => format!("{error}: {}", io_text(source)),
        LookupError::Empty | LookupError::TimedOut => error.to_string(),
    }
}

/// The error and what caused it, outermost first.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| next(*error))
}

/// The cause of an error. I/O errors hide what they wrap from `source`.
fn next<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let Some(wrapper) = error.downcast_ref::<io::Error>() else {
        return error.source();
    };
    match wrapper.get_ref() {
        Some(inner) => Some(inner),
        None => None,
    }
}

/// The first cause of a type; of I/O errors the innermost, which knows the kind.
fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    chain(error).filter_map(|error| error.downcast_ref()).last()
}

fn innermost(error: &(dyn Error + 'static)) -> String {
    match chain(error).last() {
        Some(last) => last.downcast_ref().map_or_else(|| last.to_string(), io_text),
        None => "unknown".to_owned(),
    }
}

/// The text of an I/O error without the system's number behind it.
fn io_text(error: &io::Error) -> String {
    if error.raw_os_error().is_some() { error.kind().to_string() } else { error.to_string() }
}
