//! A webhook that waits: the value of `howk.state`, and of the due set and the held list in Redis.
//!
//! The webhook stands in `webhook` as on `howk.pending`; the original's snapshot copies its fields beside the others.

use std::borrow::Cow;

use domain::{Lane, WaitReason, Waiting};
use serde::{Deserialize, Serialize};

use super::cooldown::CooldownValue;
use super::dispatch::{self, DispatchValue};
use crate::code::Code;
use crate::json::{self, Version};
use crate::time::Time;
use crate::unreadable::Unreadable;

const ROOM_BESIDE_DISPATCH: usize = 384;

/// The fields, in the order of writing.
#[derive(Serialize, Deserialize)]
struct WaitingValue<'a> {
    v: Version,
    #[serde(borrow)]
    webhook: DispatchValue<'a>,
    #[serde(borrow)]
    lane: Cow<'a, str>,
    due: Time,
    #[serde(borrow)]
    reason: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cooldown: Option<CooldownValue>,
}

/// Writes a value.
pub(crate) fn encode(waiting: &Waiting) -> Vec<u8> {
    let value = WaitingValue {
        v: Version,
        webhook: DispatchValue::of(&waiting.dispatch),
        lane: waiting.lane.code().into(),
        due: Time(waiting.due),
        reason: waiting.reason.code().into(),
        cooldown: waiting.cooldown.map(CooldownValue::of),
    };
    json::write(&value, dispatch::room(&waiting.dispatch).saturating_add(ROOM_BESIDE_DISPATCH))
}

/// Reads a value.
pub(crate) fn decode(bytes: &[u8]) -> Result<Waiting, Unreadable> {
    let value: WaitingValue<'_> = json::read(bytes)?;
    Ok(Waiting {
        dispatch: value.webhook.into_dispatch()?,
        lane: Lane::read(&value.lane)?,
        due: value.due.0,
        reason: WaitReason::read(&value.reason)?,
        cooldown: value.cooldown.map(CooldownValue::into_cooldown),
    })
}
