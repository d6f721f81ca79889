//! A tenant's decision about an endpoint, on `howk.state` under the key `setting/<endpoint hash>/<config id>`.

use std::borrow::Cow;

use domain::{ConfigId, EndpointHash, EndpointSetting, SettingDecision};
use serde::{Deserialize, Serialize};

use crate::code::Code;
use crate::json::{self, Version};
use crate::time::Time;
use crate::unreadable::Unreadable;

/// How the keys of decisions begin, and of nothing else.
pub(super) const KEY_PREFIX: &[u8] = b"setting/";

const ROOM: usize = 256;

/// The fields, in the order of writing.
#[derive(Serialize, Deserialize)]
struct SettingValue<'a> {
    v: Version,
    #[serde(borrow)]
    config_id: Cow<'a, str>,
    #[serde(borrow)]
    endpoint_hash: Cow<'a, str>,
    #[serde(borrow)]
    state: Cow<'a, str>,
    decided_at: Time,
}

/// Writes a value.
pub(super) fn encode(decision: &SettingDecision) -> Vec<u8> {
    let value = SettingValue {
        v: Version,
        config_id: decision.config_id.as_str().into(),
        endpoint_hash: decision.endpoint.as_str().into(),
        state: decision.state.code().into(),
        decided_at: Time(decision.decided_at),
    };
    json::write(&value, ROOM)
}

/// Reads a value.
pub(super) fn decode(bytes: &[u8]) -> Result<SettingDecision, Unreadable> {
    let value: SettingValue<'_> = json::read(bytes)?;
    Ok(SettingDecision {
        endpoint: EndpointHash::parse(&value.endpoint_hash)
            .map_err(|error| Unreadable::of("endpoint_hash", error))?,
        config_id: ConfigId::parse(&value.config_id).map_err(|error| Unreadable::of("config_id", error))?,
        state: EndpointSetting::read(&value.state)?,
        decided_at: value.decided_at.0,
    })
}
