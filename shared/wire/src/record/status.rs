//! A status within a result, without the webhook's id and config id, which the result itself has.

use domain::{ConfigId, Next, Phase, ReasonType, Status, WaitReason, WebhookId};
use serde::{Deserialize, Serialize};

use super::dispatch::is_zero;
use crate::code::Code;
use crate::time::Time;
use crate::unreadable::Unreadable;

/// The fields, in the order of writing.
#[derive(Serialize, Deserialize)]
pub(super) struct StatusValue {
    #[serde(default, skip_serializing_if = "is_zero")]
    replayed_from: u64,
    dispatch: u64,
    phase: String,
    attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<NextValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waiting_for: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_attempt_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    updated_at: Time,
}

#[derive(Serialize, Deserialize)]
struct NextValue {
    due: Time,
    attempt: u32,
}

impl StatusValue {
    pub(super) fn of(status: &Status) -> Self {
        Self {
            replayed_from: status.replayed_from,
            dispatch: status.dispatch,
            phase: status.phase.code().to_owned(),
            attempts: status.attempts,
            next: status.next.map(|Next { due, attempt }| NextValue { due: Time(due), attempt }),
            waiting_for: status.waiting_for.map(|reason| reason.code().to_owned()),
            reason_type: status.reason_type.map(|reason| reason.code().to_owned()),
            last_attempt_at: status.last_attempt_at.map(Time),
            last_status: status.last_status,
            last_error: status.last_error.clone(),
            updated_at: Time(status.updated_at),
        }
    }

    pub(super) fn into_status(self, id: WebhookId, config_id: ConfigId) -> Result<Status, Unreadable> {
        Ok(Status {
            replayed_from: self.replayed_from,
            dispatch: self.dispatch,
            phase: Phase::read(&self.phase)?,
            attempts: self.attempts,
            next: self.next.map(|NextValue { due, attempt }| Next { due: due.0, attempt }),
            waiting_for: self.waiting_for.as_deref().map(WaitReason::read).transpose()?,
            reason_type: self.reason_type.as_deref().map(ReasonType::read).transpose()?,
            last_attempt_at: self.last_attempt_at.map(|Time(at)| at),
            last_status: self.last_status,
            last_error: self.last_error,
            updated_at: self.updated_at.0,
            config_id,
            id,
        })
    }
}
