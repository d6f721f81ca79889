//! Effects: what a decision wants done, in order.
//!
//! The order is the same in every list: durable first, hot state second, forgetting last. Every effect is idempotent, so
//! a process may die after any of them. Whatever led to the decision (a record, a due entry, an operator's request) is
//! acknowledged only after the last effect; until then it comes again and the list is performed from its beginning.

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
    /// Publishes a record. The log's acknowledgement is awaited before the next effect that is no publish.
    Publish(Record),
    /// Writes to the hot state.
    Write(Write),
    /// Changes an endpoint's circuit and cooldown by compare-and-set. A change that loses to another one is dropped: the
    /// decision is made again on the state that won.
    Change(Transition),
    /// Takes a dead letter off the index, unless a later dead letter of the same webhook has replaced it.
    Forget(DeadLetterEntry),
}

/// Which effects share a round trip with their neighbours. Of the effects of one trip any subset may survive a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trip {
    /// A trip of its own: it must be done before the next effect begins, and begins after the one before it is done.
    Alone,
    /// Records of the log.
    Publish,
    /// Writes to the hot state.
    Write,
    /// Removals from the endpoints' held lists: what replaces the removed entry is written in the trip before.
    Unhold,
    /// Removals from the index of dead letters.
    Forget,
}

impl Effect {
    /// The trip that this effect shares with neighbours of the same kind.
    pub const fn trip(&self) -> Trip {
        match self {
            // The steps of a webhook's end are made one after the other.
            Self::Publish(Record::DeadLetter(_) | Record::Tombstone(..)) | Self::Write(Write::Index(_)) => {
                Trip::Alone
            }
            Self::Publish(_) => Trip::Publish,
            Self::Write(Write::Unhold(..)) => Trip::Unhold,
            Self::Write(_) => Trip::Write,
            Self::Change(_) => Trip::Alone,
            Self::Forget(_) => Trip::Forget,
        }
    }
}

impl Trip {
    /// Whether `next`, which follows an effect of this trip, is made in it too.
    pub fn takes(self, next: &Effect) -> bool {
        self != Self::Alone && next.trip() == self
    }
}

/// The settled outcome of a claimed dispatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// The fence that came with the claim; `None` when the store could not say whether the claim was free. Without a
    /// fence the status is merged even while another holder has the claim.
    pub fence: Option<Fence>,
    /// The status of the webhook from now on.
    pub status: Status,
    /// The request, if one was made.
    pub attempt: Option<Attempt>,
}

/// What one finished request adds to the state of its endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointReport {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The start of the bucket that the tally goes to.
    pub bucket: Timestamp,
    /// Buckets that began before this may be dropped.
    pub keep_since: Timestamp,
    /// The counts to add.
    pub tally: Tally,
    /// The cooldown that the endpoint asked for. Of this and the known one the longer one stays.
    pub cooldown: Option<Cooldown>,
}

/// The leases of one dispatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leases {
    /// The name that the leases are held under.
    pub holder: String,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Whether a lease of the endpoint is held.
    pub on_endpoint: bool,
    /// Whether a lease of the domain is held.
    pub on_domain: bool,
    /// The pace of a token that was taken and not used.
    pub unused_token: Option<crate::lane::Pace>,
}

/// One write to the hot state: atomic on its own, idempotent, and independent of the order among its neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Puts a webhook into the due set, unless a later dispatch of it is there. The entry that it replaces loses its
    /// lease, even when it is of the same dispatch: an entry that is written while its predecessor is being released is
    /// not forgotten together with the predecessor (X7).
    Schedule(Waiting),
    /// Takes a webhook up to this dispatch out of the due set.
    Unschedule(WebhookId, u64),
    /// Puts a webhook into its endpoint's held list, unless a later dispatch of it is there.
    Hold(Waiting),
    /// Takes a webhook up to this dispatch out of a tenant's held list of an endpoint.
    Unhold(EndpointHash, ConfigId, WebhookId, u64),
    /// Settles a claimed dispatch; a stale fence changes nothing.
    Settle(Settlement),
    /// Gives back a claim that was taken and not used; a stale fence changes nothing.
    Unclaim(WebhookId, Fence),
    /// Merges a status.
    Merge(Status),
    /// Counts an outcome and merges a cooldown. A success of an endpoint in its normal state writes nothing.
    Report(EndpointReport),
    /// Gives leases back.
    GiveBack(Leases),
    /// Stores what an endpoint's owner decided.
    Decide(SettingDecision),
    /// Lists a dead letter.
    Index(DeadLetterEntry),
}

/// The state of an endpoint that its answers brought about. All deliveries to the endpoint share it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EndpointState {
    /// Counts up with every change of circuit or cooldown: the number that a compare-and-set compares.
    pub version: u64,
    /// The circuit.
    pub circuit: Circuit,
    /// The cooldown, if the endpoint asked for one.
    pub cooldown: Option<Cooldown>,
    /// The counts of the last failure window.
    pub buckets: Vec<Bucket>,
}

impl EndpointState {
    /// Whether the circuit is closed and no cooldown is known.
    pub fn is_normal(&self) -> bool {
        matches!(self.circuit, Circuit::Closed { .. }) && self.cooldown.is_none()
    }
}

/// A change of an endpoint's state, made only while the state still has `version`.
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
