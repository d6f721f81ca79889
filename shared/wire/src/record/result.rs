//! A finished attempt: the value of `howk.results`, also the feed for analytics.
//!
//! The original's `DeliveryResult` without its copy of the webhook, extended by `dispatch`, `cause` and `status`. The
//! fields `success`, `should_retry` and `next_retry_at` repeat what others say, for readers; they are written, not read.

use std::borrow::Cow;
use std::time::Duration;

use domain::{Attempt, Cause, ConfigId, DeliveryResult, EndpointHash, WebhookId};
use serde::{Deserialize, Serialize};

use super::status::StatusValue;
use crate::code::Code;
use crate::json::{self, Version};
use crate::time::Time;
use crate::unreadable::Unreadable;

const ROOM: usize = 1024;

/// The fields, in the order of writing.
#[derive(Serialize, Deserialize)]
struct ResultValue<'a> {
    v: Version,
    #[serde(borrow)]
    webhook_id: Cow<'a, str>,
    #[serde(borrow)]
    config_id: Cow<'a, str>,
    #[serde(borrow)]
    endpoint: Cow<'a, str>,
    #[serde(borrow)]
    endpoint_hash: Cow<'a, str>,
    attempt: u32,
    dispatch: u64,
    #[serde(borrow)]
    cause: Cow<'a, str>,
    #[serde(skip_deserializing)]
    success: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status_code: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Cow<'a, str>>,
    duration_ns: u64,
    timestamp: Time,
    #[serde(skip_deserializing)]
    should_retry: bool,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    next_retry_at: Option<Time>,
    status: StatusValue,
}

/// Writes a value.
pub(super) fn encode(result: &DeliveryResult) -> Vec<u8> {
    let (attempt, status) = (&result.attempt, &result.status);
    let value = ResultValue {
        v: Version,
        webhook_id: status.id.as_str().into(),
        config_id: status.config_id.as_str().into(),
        endpoint: result.url.as_str().into(),
        endpoint_hash: result.endpoint.as_str().into(),
        attempt: attempt.number,
        dispatch: attempt.dispatch,
        cause: attempt.cause.code().into(),
        success: result.is_success(),
        status_code: attempt.status,
        error: attempt.error.as_deref().map(Cow::from),
        duration_ns: u64::try_from(attempt.took.as_nanos()).unwrap_or(u64::MAX),
        timestamp: Time(attempt.at),
        should_retry: status.next.is_some(),
        next_retry_at: status.next.map(|next| Time(next.due)),
        status: StatusValue::of(status),
    };
    json::write(&value, ROOM)
}

/// Reads a value.
pub(super) fn decode(bytes: &[u8]) -> Result<DeliveryResult, Unreadable> {
    let value: ResultValue<'_> = json::read(bytes)?;
    let id = WebhookId::parse(&value.webhook_id).map_err(|error| Unreadable::of("webhook_id", error))?;
    let config_id = ConfigId::parse(&value.config_id).map_err(|error| Unreadable::of("config_id", error))?;
    let attempt = Attempt {
        number: value.attempt,
        dispatch: value.dispatch,
        cause: Cause::read(&value.cause)?,
        at: value.timestamp.0,
        took: Duration::from_nanos(value.duration_ns),
        status: value.status_code,
        error: value.error.map(Cow::into_owned),
    };
    Ok(DeliveryResult {
        endpoint: EndpointHash::parse(&value.endpoint_hash)
            .map_err(|error| Unreadable::of("endpoint_hash", error))?,
        url: value.endpoint.into_owned(),
        attempt,
        status: value.status.into_status(id, config_id)?,
    })
}
