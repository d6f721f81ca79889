//! Signatures: the original's `X-Webhook-Signature` and Standard Webhooks' `webhook-signature`.
//!
//! Called for every request with signing secrets. Which key a secret stands for is `domain`'s rule. Signs the accepted
//! bytes as they are (DL-4). Several secrets make several signatures in one header, so that a key can be rotated. No
//! text here holds a secret (SE-1).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::{Secret, SecretError, Signatures, SigningKey};
use ed25519_dalek::Signer as _;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

type HmacSha256 = Hmac<Sha256>;

/// Why a secret signs nothing. The text never shows the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum SignerError {
    /// It stands for no key.
    #[error("{0}")]
    Secret(#[from] SecretError),
    /// The public key is another key's.
    #[error("the public key after \"whsk_\" does not belong to its private key")]
    KeyPair,
}

/// What makes one entry of `webhook-signature`.
enum Standard {
    V1(HmacSha256),
    V1a(Box<ed25519_dalek::SigningKey>),
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
    pub(crate) fn new(secrets: &[Secret], families: Signatures) -> Result<Self, SignerError> {
        let mut signer = Self { x_webhook: Vec::new(), standard: Vec::new() };
        for secret in secrets {
            signer.add(&SigningKey::read(secret)?, families)?;
        }
        Ok(signer)
    }

    fn add(&mut self, key: &SigningKey<'_>, families: Signatures) -> Result<(), SignerError> {
        let (x_webhook, standard) = match key {
            SigningKey::Text(text) => {
                let mac = keyed(text)?;
                (Some(mac.clone()), Standard::V1(mac))
            }
            SigningKey::Symmetric { text, key } => (Some(keyed(text)?), Standard::V1(keyed(key)?)),
            SigningKey::Asymmetric { seed, public } => (None, Standard::V1a(private_key(seed, public.as_ref())?)),
        };
        if families.has_original() {
            self.x_webhook.extend(x_webhook);
        }
        if families.has_standard() {
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

fn private_key(seed: &[u8; 32], public: Option<&[u8; 32]>) -> Result<Box<ed25519_dalek::SigningKey>, SignerError> {
    let key = ed25519_dalek::SigningKey::from_bytes(seed);
    let belongs = public.is_none_or(|public| key.verifying_key().as_bytes() == public);
    if belongs { Ok(Box::new(key)) } else { Err(SignerError::KeyPair) }
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
