//! The records of the log: everything that one process tells another.

use std::time::Duration;

use crate::cooldown::Cooldown;
use crate::dead_letter::{DeadLetter, Undecodable};
use crate::id::{EndpointHash, WebhookId};
use crate::lane::Lane;
use crate::setting::SettingDecision;
use crate::status::{Attempt, Status};
use crate::time::Timestamp;
use crate::webhook::Dispatch;

pub use crate::wait_reason::WaitReason;

/// A webhook that waits: the value of `howk.state`, and of the due set and the held list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The dispatch to hand over.
    pub dispatch: Dispatch,
    /// The lane to hand it to.
    pub lane: Lane,
    /// When it is due; of a held webhook, since when it is held.
    pub due: Timestamp,
    /// The reason.
    pub reason: WaitReason,
    /// Its endpoint's cooldown when this was written: a rebuild puts it back from here.
    pub cooldown: Option<Cooldown>,
}

/// One finished attempt: the value of `howk.results`, also the feed for analytics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryResult {
    /// The endpoint.
    pub endpoint: EndpointHash,
    /// The URL without its query.
    pub url: String,
    /// The request.
    pub attempt: Attempt,
    /// The status of the webhook after it.
    pub status: Status,
}

impl DeliveryResult {
    /// Whether the endpoint took the webhook.
    pub const fn is_success(&self) -> bool {
        self.attempt.error.is_none()
    }

    /// How long the request took.
    pub const fn took(&self) -> Duration {
        self.attempt.took
    }
}

/// A record of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// `howk.pending` or `howk.slow`.
    Dispatch(Lane, Dispatch),
    /// `howk.results`.
    Result(DeliveryResult),
    /// `howk.deadletter`.
    DeadLetter(DeadLetter),
    /// `howk.deadletter`, for a record that could not be read.
    Undecodable(Undecodable),
    /// `howk.state`.
    Waiting(Waiting),
    /// `howk.state`, null value: this webhook waits no more, up to this dispatch.
    Tombstone(WebhookId, u64),
    /// `howk.state`: an owner's decision. That an endpoint is active is a record too, so that compaction keeps the last
    /// decision whatever it was.
    Setting(SettingDecision),
}

/// The topics of the log, by what they carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// New and released webhooks.
    Pending,
    /// Webhooks of slow or overloaded endpoints.
    Slow,
    /// Finished attempts.
    Results,
    /// Webhooks that failed for good.
    DeadLetter,
    /// What waits.
    State,
}

impl Topic {
    /// Every topic.
    pub const ALL: [Self; 5] = [Self::Pending, Self::Slow, Self::Results, Self::DeadLetter, Self::State];

    /// The topic that a lane works on.
    pub const fn of_lane(lane: Lane) -> Self {
        match lane {
            Lane::Fast => Self::Pending,
            Lane::Slow => Self::Slow,
        }
    }

    /// The default name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "howk.pending",
            Self::Slow => "howk.slow",
            Self::Results => "howk.results",
            Self::DeadLetter => "howk.deadletter",
            Self::State => "howk.state",
        }
    }
}

impl Record {
    /// The topic that the record belongs on.
    pub const fn topic(&self) -> Topic {
        match self {
            Self::Dispatch(lane, _) => Topic::of_lane(*lane),
            Self::Result(_) => Topic::Results,
            Self::DeadLetter(_) | Self::Undecodable(_) => Topic::DeadLetter,
            Self::Waiting(_) | Self::Tombstone(..) | Self::Setting(_) => Topic::State,
        }
    }

    /// The record's key: it chooses the partition, and compaction keeps the last value of each key.
    pub fn key(&self) -> String {
        match self {
            Self::Dispatch(_, dispatch) => dispatch.webhook.config_id.to_string(),
            Self::Result(result) => result.status.id.to_string(),
            Self::DeadLetter(dead_letter) => dead_letter.dispatch.webhook.id.to_string(),
            Self::Undecodable(found) => {
                format!("{}/{}/{}", found.topic, found.position.partition, found.position.offset)
            }
            Self::Waiting(waiting) => waiting.dispatch.webhook.id.to_string(),
            Self::Tombstone(id, _) => id.to_string(),
            Self::Setting(decision) => format!("setting/{}/{}", decision.endpoint, decision.config_id),
        }
    }
}
