//! A dispatch with its webhook: the value of `howk.pending` and `howk.slow`, and the field `webhook` of others.
//!
//! The original's Webhook, extended by `dispatch`, `waited`, `taken_over`, `replayed_from`, `traceparent`, and
//! `signing_secrets` as a list. Callers' headers are an array of `[name, value]` pairs: the original's object would lose
//! their order and their duplicates. What is empty is left out.

use std::borrow::Cow;
use std::ops::Not;
use std::sync::Arc;

use domain::{
    ConfigId, Dispatch, Endpoint, LastFailure, MAX_ATTEMPTS_MAX, Sealed, SealedHeader, TraceParent, Webhook,
    WebhookId,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::payload::{self, Carried};
use crate::json::{self, Version};
use crate::time::Time;
use crate::unreadable::Unreadable;

/// About what a value takes beside its payload, in bytes.
const ROOM_BESIDE_PAYLOAD: usize = 768;

/// The fields, in the order of writing. They are flat: a raw payload cannot stand in a flattened part.
#[derive(Serialize, Deserialize)]
pub(super) struct DispatchValue<'a> {
    v: Version,
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    config_id: Cow<'a, str>,
    #[serde(borrow)]
    endpoint: Cow<'a, str>,
    #[serde(borrow)]
    endpoint_hash: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none", deserialize_with = "payload::raw_or_null")]
    payload: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload_base64: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload_kind: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    signing_secrets: Vec<Cow<'a, str>>,
    attempt: u32,
    max_attempts: u32,
    created_at: Time,
    scheduled_at: Time,
    #[serde(default, skip_serializing_if = "<[u16]>::is_empty")]
    retry_on_status: Cow<'a, [u16]>,
    dispatch: u64,
    waited: bool,
    #[serde(default, skip_serializing_if = "Not::not")]
    taken_over: bool,
    #[serde(default, skip_serializing_if = "is_zero")]
    replayed_from: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_failure: Option<FailureValue<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    traceparent: Option<Cow<'a, str>>,
}

#[derive(Serialize, Deserialize)]
struct FailureValue<'a> {
    at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(borrow)]
    error: Cow<'a, str>,
}

impl<'a> FailureValue<'a> {
    fn of(failure: &'a LastFailure) -> Self {
        Self { at: Time(failure.at), status: failure.status, error: failure.error.as_str().into() }
    }

    fn into_failure(self) -> LastFailure {
        LastFailure { at: self.at.0, status: self.status, error: self.error.into_owned() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Writes a value.
pub(super) fn encode(dispatch: &Dispatch) -> Vec<u8> {
    json::write(&DispatchValue::of(dispatch), room(dispatch))
}

/// Reads a value.
pub(super) fn decode(bytes: &[u8]) -> Result<Dispatch, Unreadable> {
    json::read::<DispatchValue<'_>>(bytes)?.into_dispatch()
}

/// About how many bytes a value takes.
pub(super) fn room(dispatch: &Dispatch) -> usize {
    dispatch.webhook.payload.bytes.len().saturating_add(ROOM_BESIDE_PAYLOAD)
}

impl<'a> DispatchValue<'a> {
    /// Borrows the fields of a dispatch.
    pub(super) fn of(dispatch: &'a Dispatch) -> Self {
        let webhook = &*dispatch.webhook;
        let Carried { raw, base64, kind } = payload::carry(&webhook.payload);
        let pair = |header: &'a SealedHeader| (Cow::from(header.name.as_str()), Cow::from(header.value.as_str()));
        Self {
            v: Version,
            id: webhook.id.as_str().into(),
            config_id: webhook.config_id.as_str().into(),
            endpoint: webhook.endpoint.url().into(),
            endpoint_hash: webhook.endpoint.hash().as_str().into(),
            payload: raw,
            payload_base64: base64,
            payload_kind: kind,
            headers: webhook.headers.iter().map(pair).collect(),
            idempotency_key: webhook.idempotency_key.as_deref().map(Cow::from),
            signing_secrets: webhook.signing_secrets.iter().map(|sealed| sealed.as_str().into()).collect(),
            attempt: dispatch.attempt,
            max_attempts: webhook.max_attempts,
            created_at: Time(webhook.created_at),
            scheduled_at: Time(dispatch.scheduled_at),
            retry_on_status: webhook.retry_on_status.as_slice().into(),
            dispatch: dispatch.number,
            waited: dispatch.waited,
            taken_over: dispatch.taken_over,
            replayed_from: dispatch.replayed_from,
            last_failure: dispatch.last_failure.as_deref().map(FailureValue::of),
            traceparent: webhook.trace.as_ref().map(|trace| trace.as_str().into()),
        }
    }

    /// Makes the dispatch, if the fields hold what they must.
    pub(super) fn into_dispatch(mut self) -> Result<Dispatch, Unreadable> {
        positive("attempt", u64::from(self.attempt))?;
        positive("dispatch", self.dispatch)?;
        Ok(Dispatch {
            number: self.dispatch,
            attempt: self.attempt,
            scheduled_at: self.scheduled_at.0,
            waited: self.waited,
            taken_over: self.taken_over,
            replayed_from: self.replayed_from,
            last_failure: self.last_failure.take().map(FailureValue::into_failure).map(Arc::new),
            webhook: Arc::new(self.into_webhook()?),
        })
    }

    fn into_webhook(self) -> Result<Webhook, Unreadable> {
        if !(1..=MAX_ATTEMPTS_MAX).contains(&self.max_attempts) {
            return Err(Unreadable::of("max_attempts", format_args!("not between 1 and {MAX_ATTEMPTS_MAX}")));
        }
        let header = |(name, value): (Cow<'_, str>, Cow<'_, str>)| SealedHeader {
            name: name.into_owned(),
            value: Sealed::new(value),
        };
        let carried = Carried { raw: self.payload, base64: self.payload_base64, kind: self.payload_kind };
        Ok(Webhook {
            id: WebhookId::parse(&self.id).map_err(|error| Unreadable::of("id", error))?,
            config_id: ConfigId::parse(&self.config_id).map_err(|error| Unreadable::of("config_id", error))?,
            endpoint: endpoint(&self.endpoint, &self.endpoint_hash)?,
            payload: payload::take(&carried)?,
            headers: self.headers.into_iter().map(header).collect(),
            idempotency_key: self.idempotency_key.map(Cow::into_owned),
            signing_secrets: self.signing_secrets.into_iter().map(Sealed::new).collect(),
            max_attempts: self.max_attempts,
            retry_on_status: self.retry_on_status.into_owned(),
            created_at: self.created_at.0,
            trace: self.traceparent.and_then(|text| TraceParent::parse(&text)),
        })
    }
}

fn endpoint(url: &str, hash: &str) -> Result<Endpoint, Unreadable> {
    let endpoint = Endpoint::parse(url).map_err(|error| Unreadable::of("endpoint", error))?;
    if endpoint.hash().as_str() == hash {
        Ok(endpoint)
    } else {
        Err(Unreadable::of("endpoint_hash", "not the hash of the endpoint"))
    }
}

fn positive(part: &str, number: u64) -> Result<(), Unreadable> {
    if number > 0 { Ok(()) } else { Err(Unreadable::of(part, "0, but it counts from 1")) }
}
