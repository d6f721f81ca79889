//! Signatures: the original's `X-Webhook-Signature` and Standard Webhooks' `webhook-signature`.
//!
//! Called for every request with signing secrets; [`check_secret`] also by the HTTP API. Signs the accepted bytes as
//! they are (DL-4). Several secrets make several signatures in one header, so that a key can be rotated. No text here
//! holds a secret (SE-1).

use base64::Engine;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use domain::Secret;
use ed25519_dalek::{Signer as _, SigningKey};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

use crate::config::Signatures;

type HmacSha256 = Hmac<Sha256>;

const SYMMETRIC: &str = "whsec_";
const ASYMMETRIC: &str = "whsk_";

/// Reads base64 with or without padding, as secrets are found in the wild.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Why a secret signs nothing. The text never shows the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SecretError {
    /// It is empty, with or without a prefix.
    #[error("the signing secret is empty")]
    Empty,
    /// What follows the prefix is not base64.
    #[error("what follows \"{prefix}\" in the signing secret is not valid base64")]
    Base64 {
        /// `whsec_` or `whsk_`.
        prefix: &'static str,
    },
    /// A private key has another length.
    #[error("the private key after \"whsk_\" must be 32 bytes, or 64 with its public key")]
    KeyLength,
    /// The public key is another key's.
    #[error("the public key after \"whsk_\" does not belong to its private key")]
    KeyPair,
}

/// Says whether a secret can sign.
///
/// Shape: `whsec_` and the base64 of a symmetric key; `whsk_` and the base64 of an ed25519 private key (32 bytes, or
/// 64 with the public key behind); any other text is itself the symmetric key.
///
/// # Errors
/// A [`SecretError`] that says what to change, for the caller's 422.
pub fn check_secret(secret: &Secret) -> Result<(), SecretError> {
    Key::read(secret).map(|_| ())
}

/// One secret, ready to sign.
enum Key<'a> {
    /// The text itself is the key, in both families.
    Text(&'a [u8]),
    /// The original family signs with the text, the standard one with what it decodes to.
    Symmetric { text: &'a [u8], key: Vec<u8> },
    /// Only the standard family can sign with it.
    Asymmetric(Box<SigningKey>),
}

impl<'a> Key<'a> {
    fn read(secret: &'a Secret) -> Result<Self, SecretError> {
        let text = secret.reveal();
        if let Some(encoded) = text.strip_prefix(SYMMETRIC) {
            return Ok(Self::Symmetric { text: text.as_bytes(), key: decode(encoded, SYMMETRIC)? });
        }
        if let Some(encoded) = text.strip_prefix(ASYMMETRIC) {
            let bytes = decode(encoded, ASYMMETRIC)?;
            return Ok(Self::Asymmetric(Box::new(private_key(&bytes)?)));
        }
        if text.is_empty() { Err(SecretError::Empty) } else { Ok(Self::Text(text.as_bytes())) }
    }
}

fn decode(encoded: &str, prefix: &'static str) -> Result<Vec<u8>, SecretError> {
    let bytes = LENIENT.decode(encoded).map_err(|_| SecretError::Base64 { prefix })?;
    if bytes.is_empty() { Err(SecretError::Empty) } else { Ok(bytes) }
}

fn private_key(bytes: &[u8]) -> Result<SigningKey, SecretError> {
    if let Ok(seed) = bytes.try_into() {
        return Ok(SigningKey::from_bytes(seed));
    }
    let pair = bytes.try_into().map_err(|_| SecretError::KeyLength)?;
    SigningKey::from_keypair_bytes(pair).map_err(|_| SecretError::KeyPair)
}

/// What makes one entry of `webhook-signature`.
enum Standard {
    V1(HmacSha256),
    V1a(Box<SigningKey>),
}

/// The secrets of one webhook, each set up once.
pub(crate) struct Signer {
    x_webhook: Vec<HmacSha256>,
    standard: Vec<Standard>,
}

/// The values of the signature headers; `None` when there is nothing to say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Signed {
    /// `t=<unix>,v1=<hex>[,v1=<hex>…]`.
    pub(crate) x_webhook: Option<String>,
    /// `v1,<base64>[ v1a,<base64>…]`.
    pub(crate) standard: Option<String>,
}

impl Signer {
    /// Sets the secrets up for the families that are sent.
    pub(crate) fn new(secrets: &[Secret], families: Signatures) -> Result<Self, SecretError> {
        let mut signer = Self { x_webhook: Vec::new(), standard: Vec::new() };
        for secret in secrets {
            signer.add(Key::read(secret)?, families)?;
        }
        Ok(signer)
    }

    fn add(&mut self, key: Key<'_>, families: Signatures) -> Result<(), SecretError> {
        let (x_webhook, standard) = match key {
            Key::Text(text) => {
                let mac = keyed(text)?;
                (Some(mac.clone()), Standard::V1(mac))
            }
            Key::Symmetric { text, key } => (Some(keyed(text)?), Standard::V1(keyed(&key)?)),
            Key::Asymmetric(key) => (None, Standard::V1a(key)),
        };
        if families.x_webhook {
            self.x_webhook.extend(x_webhook);
        }
        if families.standard_webhooks {
            self.standard.push(standard);
        }
        Ok(())
    }

    /// Signs one attempt: `<unix>.<body>` for the original's header, `<id>.<unix>.<body>` for the standard one.
    pub(crate) fn sign(&self, id: &str, unix: u64, body: &[u8]) -> Signed {
        let x_prefix = format!("{unix}.");
        let mut x_webhook = format!("t={unix}");
        for mac in &self.x_webhook {
            let signature = tag(mac, &x_prefix, body);
            x_webhook.push_str(",v1=");
            x_webhook.push_str(&hex::encode(signature));
        }
        let prefix = format!("{id}.{unix}.");
        let entries: Vec<_> = self.standard.iter().map(|standard| standard.entry(&prefix, body)).collect();
        Signed {
            x_webhook: (!self.x_webhook.is_empty()).then_some(x_webhook),
            standard: (!entries.is_empty()).then(|| entries.join(" ")),
        }
    }
}

impl Standard {
    fn entry(&self, prefix: &str, body: &[u8]) -> String {
        match self {
            Self::V1(mac) => format!("v1,{}", STANDARD.encode(tag(mac, prefix, body))),
            Self::V1a(key) => {
                let signature = key.sign(&[prefix.as_bytes(), body].concat());
                format!("v1a,{}", STANDARD.encode(signature.to_bytes()))
            }
        }
    }
}

fn keyed(key: &[u8]) -> Result<HmacSha256, SecretError> {
    // HMAC takes keys of every length, so this never fails.
    HmacSha256::new_from_slice(key).map_err(|_| SecretError::Empty)
}

fn tag(keyed: &HmacSha256, prefix: &str, body: &[u8]) -> [u8; 32] {
    let mut mac = keyed.clone();
    mac.update(prefix.as_bytes());
    mac.update(body);
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests;
