//! Port `vault` on XChaCha20-Poly1305 (SE-1).
//!
//! Called when a webhook is accepted, and by the sender before its requests. A seal has the form
//! `seal1.<key id>.<base64url of nonce, ciphertext and tag>`. The tenant's id is authenticated along with it, so that a
//! seal copied into another tenant's record cannot be read. Keys and their ids are derived from the deployment's key
//! texts by HKDF; an id says nothing about its key. The nonce is drawn for every seal: of 192 bits, two equal ones are not to be expected.
//!
//! Rotation: the current key seals, the current and the previous keys unseal. A previous key may be removed when the last
//! webhook that was sealed with it has ended.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{Key, KeyInit, XChaCha20Poly1305, XNonce};
use delivery::ports::time::Random;
use delivery::ports::vault::{Unsealable, Vault};
use delivery::{Fault, FaultKind};
use domain::{ConfigId, Sealed, Secret};
use hkdf::Hkdf;
use sha2::Sha256;

/// What a seal begins with; the digit is the version of its form.
const PREFIX: &str = "seal1.";
const NONCE_BYTES: usize = 24;
const KEY_INFO: &[u8] = b"howk seal1 key";
const KEY_ID_INFO: &[u8] = b"howk seal1 key id";

/// Seals with one key, unseals with that and previous ones.
pub struct XChaChaVault {
    current: String,
    ciphers: BTreeMap<String, XChaCha20Poly1305>,
    random: Arc<dyn Random>,
}

impl fmt::Debug for XChaChaVault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("XChaChaVault").field("current", &self.current).finish_non_exhaustive()
    }
}

impl XChaChaVault {
    /// Makes a vault of the current key and the previous ones.
    ///
    /// # Errors
    /// A permanent [`Fault`] when no key can be derived.
    pub fn new(current: &Secret, previous: &[Secret], random: Arc<dyn Random>) -> Result<Self, Fault> {
        let (id, cipher) = derive(current)?;
        let mut ciphers = previous.iter().map(derive).collect::<Result<BTreeMap<_, _>, _>>()?;
        ciphers.insert(id.clone(), cipher);
        Ok(Self { current: id, ciphers, random })
    }

    /// A vault with a drawn key that exists only in it: it alone can unseal what it sealed.
    ///
    /// # Errors
    /// As [`XChaChaVault::new`].
    pub fn ephemeral(random: Arc<dyn Random>) -> Result<Self, Fault> {
        let drawn = Secret::new(format!("{:032x}{:032x}", random.bits(), random.bits()));
        Self::new(&drawn, &[], random)
    }

    fn nonce(&self) -> XNonce {
        let mut bytes = [0; NONCE_BYTES];
        let drawn = [self.random.bits().to_le_bytes(), self.random.bits().to_le_bytes()];
        for (byte, drawn) in bytes.iter_mut().zip(drawn.as_flattened()) {
            *byte = *drawn;
        }
        XNonce::from(bytes)
    }
}

impl Vault for XChaChaVault {
    fn seal(&self, tenant: &ConfigId, secret: &Secret) -> Result<Sealed, Fault> {
        let unsealed = || Fault::new(FaultKind::Permanent, "a secret cannot be sealed");
        let cipher = self.ciphers.get(&self.current).ok_or_else(unsealed)?;
        let nonce = self.nonce();
        let message = Payload { msg: secret.reveal().as_bytes(), aad: tenant.as_str().as_bytes() };
        let ciphertext = cipher.encrypt(&nonce, message).map_err(|_| unsealed())?;
        let encoded = URL_SAFE_NO_PAD.encode([nonce.as_slice(), &ciphertext].concat());
        Ok(Sealed::new(format!("{PREFIX}{}.{encoded}", self.current)))
    }

    fn unseal(&self, tenant: &ConfigId, sealed: &Sealed) -> Result<Secret, Unsealable> {
        let parts = sealed.as_str().strip_prefix(PREFIX).and_then(|rest| rest.split_once('.'));
        let (key_id, encoded) = parts.ok_or(Unsealable::Broken)?;
        let cipher = self.ciphers.get(key_id).ok_or_else(|| Unsealable::UnknownKey { key_id: shown(key_id) })?;
        let bytes = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| Unsealable::Broken)?;
        let (nonce, ciphertext) = bytes.split_first_chunk::<NONCE_BYTES>().ok_or(Unsealable::Broken)?;
        let message = Payload { msg: ciphertext, aad: tenant.as_str().as_bytes() };
        let clear = cipher.decrypt(&XNonce::from(*nonce), message).map_err(|_| Unsealable::Broken)?;
        String::from_utf8(clear).map(Secret::new).map_err(|_| Unsealable::Broken)
    }
}

/// A key id as an error may show it: only digits, since a damaged record may hold any text in its place.
fn shown(key_id: &str) -> String {
    key_id.chars().filter(char::is_ascii_hexdigit).take(8).collect()
}

/// The id of a key and its cipher.
fn derive(key: &Secret) -> Result<(String, XChaCha20Poly1305), Fault> {
    let too_long = |_| Fault::new(FaultKind::Permanent, "a secrets key cannot be derived");
    let derivation = Hkdf::<Sha256>::new(None, key.reveal().as_bytes());
    let (mut id, mut cipher_key) = ([0; 4], [0; 32]);
    derivation.expand(KEY_ID_INFO, &mut id).map_err(too_long)?;
    derivation.expand(KEY_INFO, &mut cipher_key).map_err(too_long)?;
    Ok((hex::encode(id), XChaCha20Poly1305::new(&Key::from(cipher_key))))
}

#[cfg(test)]
mod tests;
