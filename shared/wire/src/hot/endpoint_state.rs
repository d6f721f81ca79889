//! The state of an endpoint that its answers led to, the same for all tenants: the fields `version`, `circuit`, `cooldown` and `bucket:<start>` of `{ep:<hash>}`.

use domain::EndpointState;

use super::{bucket, circuit, cooldown};
use crate::unreadable::Unreadable;

/// The field of the version.
pub const VERSION: &str = "version";
/// The field of the circuit.
pub const CIRCUIT: &str = "circuit";
/// The field of the cooldown; absent when there is none.
pub const COOLDOWN: &str = "cooldown";

/// Writes an endpoint's state as fields.
pub fn encode(state: &EndpointState) -> Vec<(String, String)> {
    let version = (VERSION.to_owned(), state.version.to_string());
    let circuit = (CIRCUIT.to_owned(), circuit::encode(state.circuit));
    let cooldown = state.cooldown.map(|cooldown| (COOLDOWN.to_owned(), cooldown::encode(cooldown)));
    let buckets = state.buckets.iter().map(|found| (bucket::field(found.start), bucket::encode(found.tally)));
    [version, circuit].into_iter().chain(cooldown).chain(buckets).collect()
}

/// Reads an endpoint's state from fields in any order; skips the fields of others. Buckets come back by start.
///
/// # Errors
/// An [`Unreadable`] that says what is wrong.
pub fn decode<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<EndpointState, Unreadable> {
    let mut state = EndpointState::default();
    for (field, text) in fields {
        match field {
            VERSION => state.version = text.parse().map_err(|_| Unreadable::of(VERSION, "not a number"))?,
            CIRCUIT => state.circuit = circuit::decode(text)?,
            COOLDOWN => state.cooldown = Some(cooldown::decode(text)?),
            _ => state.buckets.extend(bucket::decode(field, text)?),
        }
    }
    state.buckets.sort_by_key(|found| found.start);
    Ok(state)
}
