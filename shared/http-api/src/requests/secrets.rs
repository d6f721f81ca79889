//! Reads signing secrets: one, a list of them, or both. No message shows one (SE-1).
//!
//! Which texts can sign is `domain`'s rule; the sender applies the same rule again before it signs.

use domain::{SECRETS_MAX, Secret, SigningKey};
use serde_json::value::RawValue;

use super::object::{Bounded, Member, kind, text};
use crate::validation::ValidationErrors;

/// The secrets of an item: `signing_secret` first, then those of `signing_secrets`, each once.
pub(super) fn read(one: Member<'_>, more: Member<'_>, errors: &mut ValidationErrors) -> Vec<Secret> {
    let mut secrets = Vec::new();
    if let Some(raw) = one.given() {
        add(raw, "/signing_secret", &mut secrets, errors);
    }
    let Some(raw) = more.given() else { return secrets };
    let Ok(Bounded(list)) = serde_json::from_str::<Bounded<&RawValue, SECRETS_MAX>>(raw) else {
        errors.add("/signing_secrets", format!("must be a list of strings, not {}", kind(raw)));
        return secrets;
    };
    for (index, raw) in list.first.iter().enumerate() {
        add(raw.get(), &format!("/signing_secrets/{index}"), &mut secrets, errors);
    }
    if list.count > SECRETS_MAX || secrets.len() > SECRETS_MAX {
        errors.add("/signing_secrets", format!("there are more than {SECRETS_MAX} signing secrets"));
    }
    secrets
}

fn add(raw: &str, pointer: &str, secrets: &mut Vec<Secret>, errors: &mut ValidationErrors) {
    if let Some(secret) = errors.check(pointer, secret(raw))
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
