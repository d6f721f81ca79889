//! What a decision wants done, in order.
//!
//! Durable first, hot state second, forgetting last. Every effect is idempotent, and a process may die after any of
//! them: the record that led to the decision is not acknowledged yet, so it comes again and repeats the list.

use crate::circuit::Circuit;
use crate::claim::Fence;
use crate::cooldown::Cooldown;
use crate::dead_letter::DeadLetterEntry;
use crate::endpoint::Endpoint;
use crate::id::{ConfigId, EndpointHash, WebhookId};
use crate::record::{Record, Waiting};
use crate::setting::SettingDecision;
use crate::status::{Attempt, Status};
use crate::tally::{Bucket, Tally};
use crate::time::Timestamp;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Publish a record; its acknowledgement is awaited before what follows. Neighbouring records share one trip, unless
    /// one [stands alone](Self::stands_alone).
    Publish(Record),
    /// Write to the hot state. Neighbouring writes share one round trip, so any subset of them may survive a crash, unless
    /// one [stands alone](Self::stands_alone).
    Write(Write),
}

impl Effect {
    /// Whether this shares no trip with its neighbours: each step of a webhook's end must be done before the next begins.
    pub const fn stands_alone(&self) -> bool {
        match self {
            Self::Publish(record) => matches!(record, Record::DeadLetter(_) | Record::Tombstone(..)),
            Self::Write(write) => matches!(write, Write::Index(_)),
        }
    }
}

/// The settled outcome of a claimed dispatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// The fence that the claim gave; `None` when the store could not say, which merges the status without a claim.
    pub fence: Option<Fence>,
    /// What is now known of the webhook.
    pub status: Status,
    /// The request, if one was made.
    pub attempt: Option<Attempt>,
}

/// What one finished request tells about its endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointReport {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The start of the bucket that the tally goes to.
    pub bucket: Timestamp,
    /// Buckets that began before this may be dropped.
    pub keep_since: Timestamp,
    /// What to add.
    pub tally: Tally,
    /// The cooldown that the endpoint asked for; the longer one of two stays.
    pub cooldown: Option<Cooldown>,
}

/// The leases of one dispatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leases {
    /// Whose leases.
    pub holder: String,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Whether a lease of the endpoint is held.
    pub on_endpoint: bool,
    /// Whether a lease of the domain is held.
    pub on_domain: bool,
    /// A token that was taken and not used.
    pub unused_token: Option<crate::lane::Pace>,
}

/// One write to the hot state: atomic on its own, idempotent, in any order with its neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Puts a webhook into the due set, unless a later dispatch of it is there. An entry that it replaces loses its lease,
    /// the same dispatch included: what is written while it is being released is not forgotten with it (X7).
    Schedule(Waiting),
    /// Takes a webhook up to this dispatch out of the due set.
    Unschedule(WebhookId, u64),
    /// Puts a webhook into its endpoint's held list, unless a later dispatch of it is there.
    Hold(Waiting),
    /// Takes a webhook up to this dispatch out of a tenant's held list of an endpoint.
    Unhold(EndpointHash, ConfigId, WebhookId, u64),
    /// Settles a claimed dispatch; a stale fence changes nothing.
    Settle(Settlement),
    /// Gives a claim back that was taken and not used; a stale fence changes nothing.
    Unclaim(WebhookId, Fence),
    /// Merges a status.
    Merge(Status),
    /// Counts an outcome and merges a cooldown. A success alone, of an endpoint of which nothing is known, writes nothing.
    Report(EndpointReport),
    /// Gives leases back.
    GiveBack(Leases),
    /// Records an owner's decision.
    Decide(SettingDecision),
    /// Lists a dead letter.
    Index(DeadLetterEntry),
}

/// What the receiver told everybody: shared by all who send to the endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EndpointState {
    /// Counts up with every change of circuit or cooldown; what a compare-and-set compares.
    pub version: u64,
    /// The circuit.
    pub circuit: Circuit,
    /// The cooldown, if one was asked for.
    pub cooldown: Option<Cooldown>,
    /// What happened lately.
    pub buckets: Vec<Bucket>,
}

impl EndpointState {
    /// Whether there is nothing to tell about the endpoint.
    pub fn is_normal(&self) -> bool {
        matches!(self.circuit, Circuit::Closed { .. }) && self.cooldown.is_none()
    }
}

/// A change of an endpoint's state, made only if nobody else changed it since `version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The version that the decision was made on.
    pub version: u64,
    /// The circuit from now on.
    pub circuit: Circuit,
    /// The cooldown from now on.
    pub cooldown: Option<Cooldown>,
}
