//! An endpoint: the target URL of webhooks, with its identity and its domain.

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

/// A target URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    url: String,
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
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EndpointError::UserInfo);
        }
        let domain = url.host_str().filter(|host| !host.is_empty()).ok_or(EndpointError::NoHost)?;
        let domain = domain.trim_end_matches('.').to_ascii_lowercase();
        Ok(Self { hash: EndpointHash::of(text), domain, url: text.to_owned() })
    }

    /// The URL as the caller gave it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL's identity.
    pub fn hash(&self) -> &EndpointHash {
        &self.hash
    }

    /// The host, lower case, without port and trailing dot: what a domain limit counts by.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The URL without query, fragment and user: what texts for people may show.
    pub fn shown(&self) -> &str {
        self.url.split(['?', '#']).next().unwrap_or_default()
    }
}
