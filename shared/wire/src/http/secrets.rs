//! The rules of signing secrets. No message shows one (SE-1).
//!
//! The sender reads secrets in the same way; what could never sign is refused here.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use domain::Secret;

use super::mistakes::Mistakes;
use super::object::{Bounded, Object, kind, text};
use serde_json::value::RawValue;

/// The most signing secrets of one webhook.
pub const SECRETS_MAX: usize = 5;
/// The longest signing secret, in bytes.
pub const SECRET_BYTES_MAX: usize = 1024;

/// Reads base64 with or without padding, as secrets are found in the wild.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The secrets of an item: `signing_secret` first, then those of `signing_secrets`, each once.
pub(super) fn read(object: &Object<'_>, mistakes: &mut Mistakes) -> Vec<Secret> {
    let mut secrets = Vec::new();
    if let Some(raw) = object.given("signing_secret") {
        add(raw, "/signing_secret", &mut secrets, mistakes);
    }
    let Some(raw) = object.given("signing_secrets") else { return secrets };
    let Ok(Bounded(list)) = serde_json::from_str::<Bounded<&RawValue, SECRETS_MAX>>(raw) else {
        mistakes.note("/signing_secrets", format!("must be a list of strings, not {}", kind(raw)));
        return secrets;
    };
    for (index, raw) in list.first.iter().enumerate() {
        add(raw.get(), &format!("/signing_secrets/{index}"), &mut secrets, mistakes);
    }
    if list.count > SECRETS_MAX || secrets.len() > SECRETS_MAX {
        mistakes.note("/signing_secrets", format!("there are more than {SECRETS_MAX} signing secrets"));
    }
    secrets
}

fn add(raw: &str, pointer: &str, secrets: &mut Vec<Secret>, mistakes: &mut Mistakes) {
    let checked = text(raw).and_then(|text| check(&text).map(|()| Secret::new(text)));
    if let Some(secret) = mistakes.take(pointer, checked)
        && !secrets.contains(&secret)
    {
        secrets.push(secret);
    }
}

fn check(secret: &str) -> Result<(), String> {
    if secret.len() > SECRET_BYTES_MAX {
        return Err(format!("must not be longer than {SECRET_BYTES_MAX} bytes"));
    }
    if let Some(encoded) = secret.strip_prefix("whsec_") {
        return decoded_bytes(encoded, "whsec_").map(drop);
    }
    if let Some(encoded) = secret.strip_prefix("whsk_") {
        return match decoded_bytes(encoded, "whsk_")? {
            32 | 64 => Ok(()),
            _ => Err("the private key after \"whsk_\" must be 32 bytes, or 64 with its public key".to_owned()),
        };
    }
    if secret.is_empty() { Err("must not be empty".to_owned()) } else { Ok(()) }
}

fn decoded_bytes(encoded: &str, prefix: &str) -> Result<usize, String> {
    match LENIENT.decode(encoded) {
        Ok(bytes) if bytes.is_empty() => Err(format!("must not be empty after \"{prefix}\"")),
        Ok(bytes) => Ok(bytes.len()),
        Err(_) => Err(format!("what follows \"{prefix}\" is not valid base64")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_sign_is_a_secret_and_no_message_shows_it() {
        let key = |bytes: usize| LENIENT.encode(vec![7; bytes]);
        for good in [
            "plain".to_owned(),
            format!("whsec_{}", key(24)),
            format!("whsk_{}", key(32)),
            format!("whsk_{}", key(64)),
        ] {
            assert_eq!(check(&good), Ok(()), "{good}");
        }
        for bad in
            ["", "whsec_", "whsec_%%%", "whsk_", "whsk_not base64", &format!("whsk_{}", key(31)), &"x".repeat(1025)]
        {
            let message = check(bad).unwrap_err();
            let tail = bad.trim_start_matches("whsec_").trim_start_matches("whsk_");
            assert!(tail.is_empty() || !message.contains(tail), "{message}");
        }
    }
}
