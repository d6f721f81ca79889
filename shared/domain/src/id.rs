//! Identities: of webhooks, tenants and endpoints.

use std::sync::Arc;

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
pub struct WebhookId(Arc<str>);

impl WebhookId {
    /// Makes a fresh id from the time of acceptance and 128 drawn bits (80 are used).
    pub fn fresh(now: Timestamp, random: u128) -> Self {
        Self(format!("wh_{}", Ulid::from_parts(now.as_ms(), random)).into())
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
        Self(format!("wh_{}", Ulid::from(bits)).into())
    }

    /// Reads an id back from text.
    ///
    /// # Errors
    /// [`IdError::Webhook`] when the text has another shape.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let tail = text.strip_prefix("wh_").ok_or(IdError::Webhook)?;
        let ulid = Ulid::from_string(tail).map_err(|_| IdError::Webhook)?;
        // Crockford's alphabet reads lower case too; an id has one spelling.
        if ulid.to_string() == tail { Ok(Self(text.into())) } else { Err(IdError::Webhook) }
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
pub struct ConfigId(Arc<str>);

impl ConfigId {
    /// Reads a config id.
    ///
    /// # Errors
    /// [`IdError::Config`] when it is empty, too long or has another character.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b':');
        if (1..=128).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(Self(text.into()))
        } else {
            Err(IdError::Config)
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The identity of one target URL, the same for all tenants.
///
/// Shape: the first 16 bytes of SHA-256 over the URL's text, 32 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointHash(Arc<str>);

impl EndpointHash {
    /// Hashes a URL as it was given, without normalising it.
    pub fn of(url: &str) -> Self {
        let digest = Sha256::digest(url.as_bytes());
        let bits = digest.iter().take(16).fold(0_u128, |bits, byte| (bits << 8) | u128::from(*byte));
        Self(format!("{bits:032x}").into())
    }

    /// Reads a hash back from text.
    ///
    /// # Errors
    /// [`IdError::EndpointHash`] when the text has another shape.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let lower_hex = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        if text.len() == 32 && text.bytes().all(lower_hex) {
            Ok(Self(text.into()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tenant(text: &str) -> ConfigId {
        ConfigId::parse(text).unwrap()
    }

    #[test]
    fn webhook_ids_have_one_spelling() {
        let id = "wh_01ARZ3NDEKTSV4RRFFQ69G5FAV";
        assert_eq!(WebhookId::parse(id).unwrap().as_str(), id);
        assert_eq!(WebhookId::parse(id).unwrap().to_string(), id);
        for text in [
            "",
            "wh_",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "WH_01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "wh_01arz3ndektsv4rrffq69g5fav",
            "wh_01ARZ3NDEKTSV4RRFFQ69G5FA",
            "wh_01ARZ3NDEKTSV4RRFFQ69G5FAVX",
            "wh_01ARZ3NDEKTSV4RRFFQ69G5FAU",
            "wh_O1ARZ3NDEKTSV4RRFFQ69G5FAV",
            "wh_81ARZ3NDEKTSV4RRFFQ69G5FAV",
            "wh_01ARZ3NDEKTSV4RRFFQ69G5FA.",
            " wh_01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "wh_01ARZ3NDEKTSV4RRFFQ69G5FAé",
        ] {
            assert_eq!(WebhookId::parse(text), Err(IdError::Webhook), "{text}");
        }
    }

    #[test]
    fn fresh_ids_sort_by_time_and_use_the_drawn_bits() {
        let fresh = |ms, random| WebhookId::fresh(Timestamp::from_ms(ms), random);
        assert!(fresh(1, u128::MAX) < fresh(2, 0));
        assert_ne!(fresh(1, 1), fresh(1, 2));
        assert_eq!(fresh(1, 5), fresh(1, 5 | (1 << 80)), "80 bits are used");
    }

    #[test]
    fn one_key_of_one_tenant_is_one_webhook() {
        let derived = |config: &str, key: &str| WebhookId::derived(&tenant(config), key);
        assert_eq!(derived("a", "key").as_str(), "wh_24TKEE2MBMM8J6MSBDQXQ55EE0", "the same in every release");
        let pairs = [("a", "key"), ("a", "Key"), ("a", "key "), ("b", "key"), ("ak", "ey"), ("a", ""), ("akey", "")];
        let ids: std::collections::BTreeSet<_> = pairs.iter().map(|(config, key)| derived(config, key)).collect();
        assert_eq!(ids.len(), pairs.len(), "TN-1: no pair stands for another's webhook");
    }

    #[test]
    fn config_ids_keep_to_their_alphabet_and_length() {
        let longest = "x".repeat(128);
        for text in ["a", "A-Z.a_z:09", ":", "..", &longest] {
            assert_eq!(ConfigId::parse(text).unwrap().as_str(), text);
        }
        for text in ["", "a b", "a/b", "a\0", "a\n", "é", "a{b}", "a*", &"x".repeat(129)] {
            assert_eq!(ConfigId::parse(text), Err(IdError::Config), "{text:?}");
        }
    }

    #[test]
    fn endpoint_hashes_are_of_the_text() {
        let hash = EndpointHash::of("");
        assert_eq!(hash.as_str(), "e3b0c44298fc1c149afbf4c8996fb924", "SHA-256 of nothing, its first half");
        assert_ne!(EndpointHash::of("https://a/"), EndpointHash::of("https://a"));
        let upper = hash.as_str().to_uppercase();
        for text in ["", "e3b0c44298fc1c149afbf4c8996fb92", "e3b0c44298fc1c149afbf4c8996fb924a", &upper] {
            assert_eq!(EndpointHash::parse(text), Err(IdError::EndpointHash), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_id_is_read_back(ms in 0_u64..1 << 48, random: u128, config in "[A-Za-z0-9._:-]{1,128}", text in ".*") {
            let config = tenant(&config);
            for id in [WebhookId::fresh(Timestamp::from_ms(ms), random), WebhookId::derived(&config, &text)] {
                prop_assert_eq!(WebhookId::parse(id.as_str()), Ok(id.clone()));
                prop_assert_eq!(id.as_str().len(), 29);
            }
            let hash = EndpointHash::of(&text);
            prop_assert_eq!(EndpointHash::parse(hash.as_str()), Ok(hash.clone()));
        }

        #[test]
        fn hostile_ids_never_panic(text in any::<String>()) {
            let _verdicts = (WebhookId::parse(&text), ConfigId::parse(&text), EndpointHash::parse(&text));
        }
    }
}
