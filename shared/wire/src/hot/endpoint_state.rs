//! What the receiver told everybody: the fields `version`, `circuit`, `gate` and `bucket:<start>` of `{ep:<hash>}`.

use domain::EndpointState;

use super::{bucket, circuit, gate};
use crate::unreadable::Unreadable;

/// The field of the version.
pub const VERSION: &str = "version";
/// The field of the circuit.
pub const CIRCUIT: &str = "circuit";
/// The field of the gate; absent when there is none.
pub const GATE: &str = "gate";

/// Writes an endpoint's state as fields.
pub fn encode(state: &EndpointState) -> Vec<(String, String)> {
    let version = (VERSION.to_owned(), state.version.to_string());
    let circuit = (CIRCUIT.to_owned(), circuit::encode(state.circuit));
    let gate = state.gate.map(|gate| (GATE.to_owned(), gate::encode(gate)));
    let buckets = state.buckets.iter().map(|found| (bucket::field(found.start), bucket::encode(found.tally)));
    [version, circuit].into_iter().chain(gate).chain(buckets).collect()
}

/// Reads an endpoint's state from fields in any order; passes over those of others. Buckets come back by start.
///
/// # Errors
/// An [`Unreadable`] that says what is wrong.
pub fn decode<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<EndpointState, Unreadable> {
    let mut state = EndpointState::default();
    for (field, text) in fields {
        match field {
            VERSION => state.version = text.parse().map_err(|_| Unreadable::of(VERSION, "not a number"))?,
            CIRCUIT => state.circuit = circuit::decode(text)?,
            GATE => state.gate = Some(gate::decode(text)?),
            _ => state.buckets.extend(bucket::decode(field, text)?),
        }
    }
    state.buckets.sort_by_key(|found| found.start);
    Ok(state)
}
