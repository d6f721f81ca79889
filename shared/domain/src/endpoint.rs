//! An endpoint: the target URL of webhooks, with its identity and its domain.

use std::sync::Arc;

use thiserror::Error;
use url::Url;

use crate::id::EndpointHash;

/// The longest URL that is accepted, in bytes.
pub const URL_BYTES_MAX: usize = 2048;

/// Why a text is no endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EndpointError {
    /// Longer than [`URL_BYTES_MAX`].
    #[error("the URL is longer than {URL_BYTES_MAX} bytes")]
    TooLong,
    /// Not a URL at all.
    #[error("not a valid URL: {0}")]
    Malformed(String),
    /// Neither `http` nor `https`.
    #[error("the scheme must be https or http, not \"{0}\"")]
    Scheme(String),
    /// URL parsers forgive missing, surplus and backward slashes, each in its own way, so that readers of the text might
    /// see another host than the one that is called.
    #[error("the URL must be written as https://host/path, with two forward slashes before the host")]
    Authority,
    /// No host to send to.
    #[error("the URL has no host")]
    NoHost,
    /// A user or password in the URL would leak into logs and statuses.
    #[error("the URL must not contain a user name or password; send credentials as headers")]
    UserInfo,
    /// Control characters and white space are dropped by URL parsers, so the text would not be what is called.
    #[error("the URL must not contain white space or control characters")]
    Whitespace,
}

/// A target URL. Its query may be a secret, so it is never printed (SE-1).
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint(Arc<Parts>);

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Endpoint").field(&self.shown()).finish()
    }
}

#[derive(PartialEq, Eq)]
struct Parts {
    text: String,
    url: Url,
    hash: EndpointHash,
    domain: String,
}

impl Endpoint {
    /// Reads an endpoint from the caller's text; the URL is kept as it was given.
    ///
    /// # Errors
    /// An [`EndpointError`] that says what to change.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        if text.len() > URL_BYTES_MAX {
            return Err(EndpointError::TooLong);
        }
        if text.chars().any(|character| character.is_whitespace() || character.is_control()) {
            return Err(EndpointError::Whitespace);
        }
        let url = Url::parse(text).map_err(|error| EndpointError::Malformed(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(EndpointError::Scheme(url.scheme().to_owned()));
        }
        if authority(text).ok_or(EndpointError::Authority)?.contains('@') {
            return Err(EndpointError::UserInfo);
        }
        let domain = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
        if domain.is_empty() {
            return Err(EndpointError::NoHost);
        }
        Ok(Self(Arc::new(Parts { hash: EndpointHash::of(text), domain, url, text: text.to_owned() })))
    }

    /// The URL as the caller gave it.
    pub fn url(&self) -> &str {
        &self.0.text
    }

    /// The URL as it was read: one reading serves the address policy and the request.
    pub fn parsed(&self) -> &Url {
        &self.0.url
    }

    /// The URL's identity.
    pub fn hash(&self) -> &EndpointHash {
        &self.0.hash
    }

    /// The host, lower case, without port and trailing dot: what a domain limit counts by.
    pub fn domain(&self) -> &str {
        &self.0.domain
    }

    /// The URL without query, fragment and user: what texts for people may show.
    pub fn shown(&self) -> &str {
        self.0.text.split(['?', '#']).next().unwrap_or_default()
    }
}

/// The text between `scheme://` and the path, query or fragment: host, port and user, if it is written that way.
fn authority(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once(':')?;
    let authority = rest.strip_prefix("//")?.split(['/', '?', '#']).next()?;
    (!authority.is_empty() && !authority.contains('\\')).then_some(authority)
}

#[cfg(test)]
mod tests;
