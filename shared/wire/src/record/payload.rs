//! The caller's bytes within a JSON value, unchanged (DL-4).
//!
//! A JSON text stands in `payload` as it is, unparsed: white space, key order, duplicate keys, escapes and digits stay.
//! Anything else stands in `payload_base64`. So does a JSON text that would not come back byte for byte, such as one with
//! white space around it; `payload_kind` then says `json`.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::{Payload, PayloadKind};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::unreadable::Unreadable;

const KIND_JSON: &str = "json";

/// How a value carries a payload: one of the first two, and the kind if base64 hides it.
pub(super) struct Carried<'a> {
    pub(super) raw: Option<&'a RawValue>,
    pub(super) base64: Option<Cow<'a, str>>,
    pub(super) kind: Option<Cow<'a, str>>,
}

/// Chooses how to carry a payload.
pub(super) fn carry(payload: &Payload) -> Carried<'_> {
    let json = payload.kind == PayloadKind::Json;
    let raw = if json { verbatim(&payload.bytes) } else { None };
    let base64 = raw.is_none().then(|| Cow::Owned(STANDARD.encode(&payload.bytes)));
    let kind = (json && raw.is_none()).then_some(Cow::Borrowed(KIND_JSON));
    Carried { raw, base64, kind }
}

/// The bytes as a JSON text, if that text is all of them.
fn verbatim(bytes: &[u8]) -> Option<&RawValue> {
    let raw: &RawValue = serde_json::from_slice(bytes).ok()?;
    (raw.get().len() == bytes.len()).then_some(raw)
}

/// Takes a payload out of a value.
pub(super) fn take(carried: &Carried<'_>) -> Result<Payload, Unreadable> {
    match (carried.raw, &carried.base64) {
        (Some(raw), None) => Ok(Payload { bytes: raw.get().as_bytes().into(), kind: PayloadKind::Json }),
        (None, Some(text)) => {
            let bytes = STANDARD.decode(text.as_bytes()).map_err(|error| Unreadable::of("payload_base64", error))?;
            let kind = match carried.kind.as_deref() {
                None => PayloadKind::Binary,
                Some(KIND_JSON) => PayloadKind::Json,
                Some(other) => return Err(Unreadable::unknown("payload_kind", other)),
            };
            Ok(Payload { bytes: bytes.into(), kind })
        }
        (Some(_), Some(_)) => Err(Unreadable::of("payload", "payload and payload_base64 exclude each other")),
        (None, None) => Err(Unreadable::of("payload", "neither payload nor payload_base64 is there")),
    }
}

/// Reads `payload` without parsing it. The text `null` is a payload too, not its absence.
pub(super) fn raw_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}
