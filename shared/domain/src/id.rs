//! Identities: of webhooks, tenants and endpoints.

use sha2::{Digest, Sha256};
use thiserror::Error;
use ulid::Ulid;

use crate::time::Timestamp;

/// Why a string is no identity.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IdError {
    /// A webhook id is `wh_` and a ULID.
    #[error("a webhook id is \"wh_\" followed by 26 characters of a ULID")]
    Webhook,
    /// A config id is outside its alphabet or length.
    #[error("a config id is 1 to 128 of the characters A-Z a-z 0-9 . _ - and :")]
    Config,
    /// An endpoint hash is 32 lower-case hexadecimal digits.
    #[error("an endpoint hash is 32 lower-case hexadecimal digits")]
    EndpointHash,
}

/// The identity of one webhook, stable across all its attempts.
///
/// Shape: `wh_` and a ULID, 29 characters, no dot (signatures join with dots).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WebhookId(String);

impl WebhookId {
    /// Makes a fresh id from the time of acceptance and 128 drawn bits (80 are used).
    pub fn fresh(now: Timestamp, random: u128) -> Self {
        Self(format!("wh_{}", Ulid::from_parts(now.as_ms(), random)))
    }

    /// Derives the id that one tenant's idempotency key stands for, the same at every call.
    pub fn derived(config: &ConfigId, idempotency_key: &str) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(config.as_str().as_bytes());
        // A config id holds no zero byte, so tenant and key cannot be shifted into each other.
        hasher.update([0]);
        hasher.update(idempotency_key.as_bytes());
        let digest = hasher.finalize();
        let bits = digest.iter().take(16).fold(0_u128, |bits, byte| (bits << 8) | u128::from(*byte));
        Self(format!("wh_{}", Ulid::from(bits)))
    }

    /// Reads an id back from text.
    ///
    /// # Errors
    /// [`IdError::Webhook`] when the text has another shape.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let tail = text.strip_prefix("wh_").ok_or(IdError::Webhook)?;
        let ulid = Ulid::from_string(tail).map_err(|_| IdError::Webhook)?;
        // Crockford's alphabet reads lower case too; an id has one spelling.
        if ulid.to_string() == tail { Ok(Self(text.to_owned())) } else { Err(IdError::Webhook) }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The identity of a tenant's configuration. `a:b` belongs to the namespace `a`.
///
/// Bounds: 1 to 128 characters of `A-Z a-z 0-9 . _ - :`, enforced by [`ConfigId::parse`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigId(String);

impl ConfigId {
    /// Reads a config id.
    ///
    /// # Errors
    /// [`IdError::Config`] when it is empty, too long or has another character.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b':');
        if (1..=128).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(IdError::Config)
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The identity of one target URL, shared by everyone who sends there.
///
/// Shape: the first 16 bytes of SHA-256 over the URL's text, 32 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointHash(String);

impl EndpointHash {
    /// Hashes a URL as it was given, without normalising it.
    pub fn of(url: &str) -> Self {
        let digest = Sha256::digest(url.as_bytes());
        let bits = digest.iter().take(16).fold(0_u128, |bits, byte| (bits << 8) | u128::from(*byte));
        Self(format!("{bits:032x}"))
    }

    /// Reads a hash back from text.
    ///
    /// # Errors
    /// [`IdError::EndpointHash`] when the text has another shape.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let lower_hex = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        if text.len() == 32 && text.bytes().all(lower_hex) {
            Ok(Self(text.to_owned()))
        } else {
            Err(IdError::EndpointHash)
        }
    }

    /// The hash as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! shown_as_text {
    ($($noun:ty),*) => {$(
        impl std::fmt::Display for $noun {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }
    )*};
}
shown_as_text!(WebhookId, ConfigId, EndpointHash);
