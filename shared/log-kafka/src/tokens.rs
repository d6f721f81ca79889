//! The tokens that one client signs in with, from their source.

use std::error::Error;
use std::sync::Arc;

use domain::Timestamp;
use parking_lot::Mutex;
use rdkafka::client::OAuthToken;

use crate::config::{Auth, KafkaConfig, TokenSource};

/// The tokens of one client; clones belong to the same client.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tokens {
    /// `None` when the client signs in otherwise.
    source: Option<Arc<dyn TokenSource>>,
    /// When the last token ends, once there was one.
    end: Arc<Mutex<Option<Timestamp>>>,
}

impl Tokens {
    /// The tokens of a new client.
    pub(crate) fn new(config: &KafkaConfig) -> Self {
        let source = match &config.security.auth {
            Auth::Tokens(source) => Some(Arc::clone(source)),
            Auth::None | Auth::Scram(_) => None,
        };
        Self { source, end: Arc::default() }
    }

    /// A new token, which the client has from now on.
    pub(crate) fn next(&self) -> Result<OAuthToken, Box<dyn Error>> {
        let token = self.source.as_ref().ok_or("no source of tokens")?.token()?;
        *self.end.lock() = Some(token.expires_at);
        Ok(OAuthToken {
            token: token.value.reveal().to_owned(),
            principal_name: token.principal,
            lifetime_ms: i64::try_from(token.expires_at.as_ms())?,
        })
    }

    /// Whether the client waits for its first token.
    pub(crate) fn are_missing(&self) -> bool {
        self.source.is_some() && self.end.lock().is_none()
    }

    /// Whether the last token has ended, as it does while a process is frozen. The client notices by itself, but not before its
    /// requests, or its next sign-in, have been refused.
    pub(crate) fn have_ended(&self) -> bool {
        let last = self.source.as_ref().zip(*self.end.lock());
        last.is_some_and(|(source, end)| source.has_ended(end))
    }
}
