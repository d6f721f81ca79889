//! A dead letter: the value of `howk.deadletter`.
//!
//! The original's fields. `webhook` is whole, header values and secrets included, because a replay sends it again.

use std::borrow::Cow;

use domain::{DeadLetter, ReasonType};
use serde::{Deserialize, Serialize};

use super::dispatch::{self, DispatchValue};
use crate::code::Code;
use crate::json::{self, Version};
use crate::time::Time;
use crate::unreadable::Unreadable;

const ROOM_BESIDE_DISPATCH: usize = 1536;

/// The fields, in the order of writing.
#[derive(Serialize, Deserialize)]
struct DeadLetterValue<'a> {
    v: Version,
    #[serde(borrow)]
    webhook: DispatchValue<'a>,
    #[serde(borrow)]
    reason: Cow<'a, str>,
    #[serde(borrow)]
    reason_type: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_error: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status_code: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response_body: Option<Cow<'a, str>>,
    time: Time,
}

/// Writes a value.
pub(super) fn encode(dead_letter: &DeadLetter) -> Vec<u8> {
    let value = DeadLetterValue {
        v: Version,
        webhook: DispatchValue::of(&dead_letter.dispatch),
        reason: dead_letter.reason.as_str().into(),
        reason_type: dead_letter.reason_type.code().into(),
        last_error: dead_letter.last_error.as_deref().map(Cow::from),
        status_code: dead_letter.status,
        response_body: dead_letter.response_body.as_deref().map(Cow::from),
        time: Time(dead_letter.at),
    };
    json::write(&value, dispatch::room(&dead_letter.dispatch).saturating_add(ROOM_BESIDE_DISPATCH))
}

/// Reads a value.
pub(super) fn decode(bytes: &[u8]) -> Result<DeadLetter, Unreadable> {
    let value: DeadLetterValue<'_> = json::read(bytes)?;
    Ok(DeadLetter {
        dispatch: value.webhook.into_dispatch()?,
        reason_type: ReasonType::read(&value.reason_type)?,
        reason: value.reason.into_owned(),
        last_error: value.last_error.map(Cow::into_owned),
        status: value.status_code,
        response_body: value.response_body.map(Cow::into_owned),
        at: value.time.0,
    })
}
