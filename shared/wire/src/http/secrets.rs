//! Reads signing secrets: one, a list of them, or both. No message shows one (SE-1).
//!
//! Which texts can sign is `domain`'s rule; the sender asks the same again before it signs.

use domain::{SECRETS_MAX, Secret, SigningKey};

use super::mistakes::ValidationErrors;
use super::object::{Bounded, Object, kind, text};
use serde_json::value::RawValue;

/// The secrets of an item: `signing_secret` first, then those of `signing_secrets`, each once.
pub(super) fn read(object: &Object<'_>, mistakes: &mut ValidationErrors) -> Vec<Secret> {
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

fn add(raw: &str, pointer: &str, secrets: &mut Vec<Secret>, mistakes: &mut ValidationErrors) {
    if let Some(secret) = mistakes.take(pointer, secret(raw))
        && !secrets.contains(&secret)
    {
        secrets.push(secret);
    }
}

fn secret(raw: &str) -> Result<Secret, String> {
    let secret = Secret::new(text(raw)?);
    SigningKey::read(&secret).map_err(|error| error.to_string())?;
    Ok(secret)
}
