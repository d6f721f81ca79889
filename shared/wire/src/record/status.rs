//! A status within a result: everything of it but whose it is, which the result itself says.

use domain::{ConfigId, Next, Phase, Status, WebhookId};
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
            last_attempt_at: self.last_attempt_at.map(|Time(at)| at),
            last_status: self.last_status,
            last_error: self.last_error,
            updated_at: self.updated_at.0,
            config_id,
            id,
        })
    }
}
