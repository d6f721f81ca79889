//! Signing secrets: which texts can sign, and the keys that they stand for.
//!
//! The API calls it when a webhook is accepted, the sender before every signed request: a text that could not sign is
//! refused before the webhook is accepted. It signs nothing. No message and no debug text shows a secret (SE-1).

use std::fmt;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use thiserror::Error;

use crate::secret::Secret;

/// The most signing secrets of one webhook. A rotation needs two; each one adds a signature to the request's headers.
pub const SECRETS_MAX: usize = 5;
/// The longest signing secret, in bytes: many times the key of any signature here.
pub const SECRET_BYTES_MAX: usize = 1024;

/// The header families that identify and sign a request. A family is sent as a whole: its id, attempt and time headers go
/// with its signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Signatures {
    /// Both families.
    #[default]
    Both,
    /// The original's `X-Webhook-*` alone: id, attempt, timestamp and signature.
    Original,
    /// Standard Webhooks' `webhook-*` alone: id, timestamp and signature.
    Standard,
}

impl Signatures {
    /// Whether requests carry the original's family.
    pub const fn has_original(self) -> bool {
        matches!(self, Self::Both | Self::Original)
    }

    /// Whether requests carry Standard Webhooks' family.
    pub const fn has_standard(self) -> bool {
        matches!(self, Self::Both | Self::Standard)
    }
}

const SYMMETRIC: &str = "whsec_";
const ASYMMETRIC: &str = "whsk_";

/// Reads base64 with or without padding, as secrets are found in the wild.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
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
    /// It is longer than [`SECRET_BYTES_MAX`].
    #[error("the signing secret is longer than {SECRET_BYTES_MAX} bytes")]
    TooLong,
    /// What follows the prefix is not base64.
    #[error("what follows \"{prefix}\" in the signing secret is not valid base64")]
    Base64 {
        /// `whsec_` or `whsk_`.
        prefix: &'static str,
    },
    /// A private key has another length.
    #[error("the private key after \"whsk_\" must be 32 bytes, or 64 with its public key")]
    KeyLength,
}

/// The key that a secret stands for.
///
/// Shape: `whsec_` and the base64 of a symmetric key; `whsk_` and the base64 of an ed25519 private key (32 bytes, or
/// 64 with the public key behind); any other text is itself the symmetric key.
#[derive(PartialEq, Eq)]
pub enum SigningKey<'a> {
    /// The text itself is the key, in both families of signatures.
    Text(&'a [u8]),
    /// The original family signs with the text, the standard one with what it decodes to.
    Symmetric {
        /// The whole text.
        text: &'a [u8],
        /// What it decodes to. Never empty.
        key: Vec<u8>,
    },
    /// An ed25519 key; only the standard family can sign with it.
    Asymmetric {
        /// The private key.
        seed: [u8; 32],
        /// The public key, when the secret brings it. The signer checks that it belongs to the private key.
        public: Option<[u8; 32]>,
    },
}

impl<'a> SigningKey<'a> {
    /// Reads the key that a secret stands for.
    ///
    /// # Errors
    /// A [`SecretError`] that says what to change.
    pub fn read(secret: &'a Secret) -> Result<Self, SecretError> {
        let text = secret.reveal();
        if text.len() > SECRET_BYTES_MAX {
            return Err(SecretError::TooLong);
        }
        if let Some(encoded) = text.strip_prefix(SYMMETRIC) {
            return Ok(Self::Symmetric { text: text.as_bytes(), key: decode(encoded, SYMMETRIC)? });
        }
        if let Some(encoded) = text.strip_prefix(ASYMMETRIC) {
            return private_key(&decode(encoded, ASYMMETRIC)?);
        }
        if text.is_empty() { Err(SecretError::Empty) } else { Ok(Self::Text(text.as_bytes())) }
    }
}

impl fmt::Debug for SigningKey<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Text(_) => "Text([REDACTED])",
            Self::Symmetric { .. } => "Symmetric([REDACTED])",
            Self::Asymmetric { .. } => "Asymmetric([REDACTED])",
        })
    }
}

fn decode(encoded: &str, prefix: &'static str) -> Result<Vec<u8>, SecretError> {
    let bytes = LENIENT.decode(encoded).map_err(|_| SecretError::Base64 { prefix })?;
    if bytes.is_empty() { Err(SecretError::Empty) } else { Ok(bytes) }
}

fn private_key(bytes: &[u8]) -> Result<SigningKey<'static>, SecretError> {
    let (seed, behind) = bytes.split_first_chunk().ok_or(SecretError::KeyLength)?;
    let public = match behind {
        [] => None,
        behind => Some(behind.try_into().map_err(|_| SecretError::KeyLength)?),
    };
    Ok(SigningKey::Asymmetric { seed: *seed, public })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(prefix: &str, bytes: usize) -> String {
        format!("{prefix}{}", LENIENT.encode(vec![7; bytes]))
    }

    fn error(text: &str) -> Option<SecretError> {
        SigningKey::read(&Secret::new(text)).err()
    }

    #[test]
    fn secrets_that_sign_nothing_are_refused_and_not_shown() {
        let table = [
            ("", SecretError::Empty),
            ("whsec_", SecretError::Empty),
            ("whsk_", SecretError::Empty),
            ("whsec_s3cret!", SecretError::Base64 { prefix: "whsec_" }),
            ("whsec_%%%", SecretError::Base64 { prefix: "whsec_" }),
            ("whsk_s3cret!", SecretError::Base64 { prefix: "whsk_" }),
            ("whsk_not base64", SecretError::Base64 { prefix: "whsk_" }),
            ("whsk_czNjcmV0", SecretError::KeyLength),
            (&encoded("whsk_", 31), SecretError::KeyLength),
            (&encoded("whsk_", 33), SecretError::KeyLength),
            (&encoded("whsk_", 63), SecretError::KeyLength),
            (&encoded("whsk_", 65), SecretError::KeyLength),
            (&"x".repeat(1025), SecretError::TooLong),
            (&encoded("whsec_", 1000), SecretError::TooLong),
        ];
        for (text, expected) in table {
            assert_eq!(error(text), Some(expected), "{text}");
            let tail = text.trim_start_matches("whsec_").trim_start_matches("whsk_");
            assert!(tail.is_empty() || !expected.to_string().contains(tail), "{expected}");
        }
    }

    #[test]
    fn secrets_that_sign_are_read() {
        let longest = "x".repeat(SECRET_BYTES_MAX);
        for text in ["x", " ", "plain", "WHSEC_!", &longest] {
            assert_eq!(SigningKey::read(&Secret::new(text)), Ok(SigningKey::Text(text.as_bytes())), "{text}");
        }
        for text in ["whsec_AAECAw", "whsec_AAECAw==", "whsec_AAECAx"] {
            let (text, key) = (Secret::new(text), vec![0, 1, 2, 3]);
            let expected = SigningKey::Symmetric { text: text.reveal().as_bytes(), key };
            assert_eq!(SigningKey::read(&text), Ok(expected), "padding and trailing bits do not matter");
        }
        let alone = SigningKey::Asymmetric { seed: [7; 32], public: None };
        assert_eq!(SigningKey::read(&Secret::new(encoded("whsk_", 32))), Ok(alone));
        let pair = SigningKey::Asymmetric { seed: [7; 32], public: Some([7; 32]) };
        assert_eq!(SigningKey::read(&Secret::new(encoded("whsk_", 64))), Ok(pair));
    }

    #[test]
    fn se_1_a_key_is_never_printed() {
        for text in ["s3cret", "whsec_AAECAw", &encoded("whsk_", 64)] {
            let shown = format!("{:?}", SigningKey::read(&Secret::new(text)));
            assert!(shown.contains("REDACTED") && !shown.contains(text) && !shown.contains('7'), "{shown}");
        }
    }

    proptest! {
        #[test]
        fn hostile_secrets_never_panic(text in "(whsec_|whsk_)?\\PC{0,100}") {
            let _verdict = error(&text);
        }
    }
}
