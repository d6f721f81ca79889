//! What one round trip reads and takes before a request: the facts that `admit` decides on.

use std::time::Duration;

use crate::claim::{ClaimFact, ClaimHolder};
use crate::effect::{EndpointState, Leases};
use crate::entropy::Entropy;
use crate::lane::{Lane, Pace, Token};
use crate::policy::Policy;
use crate::setting::EndpointSetting;
use crate::time::Timestamp;
use crate::webhook::Dispatch;

/// What became of a wish for a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseFact {
    /// The lease is ours.
    Taken,
    /// The limit is reached.
    Full,
    /// There is no limit, or the store could not say: go ahead without one.
    Unlimited,
}

/// How far back the store remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// It was last rebuilt then. What was handed over before may have been worked on without its knowing.
    Since(Timestamp),
    /// What waits was put back then, and what became of everything else follows behind: it does not know yet of every
    /// webhook that ended before.
    StatusesPending(Timestamp),
    /// It was lost and is not rebuilt yet: what it does not say means nothing.
    Lost,
    /// The store could not say.
    Unknown,
}

/// Everything known when the decision is made. What was taken is given back unless a request follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// How far back the rest can be relied on.
    pub memory: Memory,
    /// The claim on the dispatch.
    pub claim: ClaimFact,
    /// What the receiver told everybody; `None` when the store could not say.
    pub endpoint: Option<EndpointState>,
    /// What the tenant decided about the endpoint.
    pub setting: EndpointSetting,
    /// The lease on the endpoint.
    pub on_endpoint: LeaseFact,
    /// The lease on the domain.
    pub on_domain: LeaseFact,
    /// The slow lane's token.
    pub token: Token,
    /// The name that the leases are held under.
    pub holder: String,
}

impl Facts {
    /// The leases that were taken for `dispatch`.
    pub fn leases(&self, dispatch: &Dispatch, unused_token: Option<Pace>) -> Leases {
        Leases {
            holder: self.holder.clone(),
            endpoint: dispatch.webhook.endpoint.clone(),
            on_endpoint: self.on_endpoint == LeaseFact::Taken,
            on_domain: self.on_domain == LeaseFact::Taken,
            unused_token: unused_token.filter(|_| self.token == Token::Taken),
        }
    }
}

/// The name that leases are held under: a rival for the same dispatch has another one, so that it cannot give back what
/// is not its own (LN-1).
pub fn lease_holder(dispatch: &Dispatch, holder: &ClaimHolder) -> String {
    let (id, number) = (dispatch.webhook.id.as_str(), dispatch.number.to_string());
    [id, &number, &holder.0].join(":")
}

/// When and where a decision is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The time.
    pub now: Timestamp,
    /// The lane.
    pub lane: Lane,
    /// What is left of the invocation; `None` where nothing ends it.
    pub remaining: Option<Duration>,
    /// The drawn number.
    pub entropy: Entropy,
}

/// Everything that a decision looks at.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// What is to be delivered.
    pub dispatch: &'a Dispatch,
    /// What is known about it.
    pub facts: &'a Facts,
    /// The numbers to go by.
    pub policy: &'a Policy,
    /// When and where.
    pub moment: Moment,
}

impl Situation<'_> {
    /// Whether the request to decide on may have been made already, by one whose traces the store has lost: the attempt
    /// was possible before the store was last rebuilt, or its webhook was accepted before under the same key.
    ///
    /// A hand-over that only waited since then is doubted too: what it is the second of, nothing tells.
    pub fn is_doubtful(&self) -> bool {
        let Dispatch { webhook, last_failure, replayed_from, scheduled_at, .. } = self.dispatch;
        let begun_at = if *replayed_from > 0 { *scheduled_at } else { webhook.created_at };
        let possible_since = last_failure.as_ref().map_or(begun_at, |failure| failure.at);
        match self.facts.memory {
            Memory::Since(rebuilt_at) => possible_since < rebuilt_at,
            // Whoever repeats a key makes the same webhook anew.
            Memory::StatusesPending(rebuilt_at) => {
                let is_repeated = *replayed_from == 0 && webhook.idempotency_key.is_some();
                possible_since < rebuilt_at || is_repeated
            }
            Memory::Lost | Memory::Unknown => false,
        }
    }

    /// Whether this attempt was taken over from an owner that may have made its request, now or before it was handed on.
    pub const fn is_taken_over(&self) -> bool {
        self.dispatch.taken_over || matches!(self.facts.claim, ClaimFact::Taken { takeover: true, .. })
    }

    /// The longest that a request may take here.
    pub fn timeout(&self) -> Duration {
        self.policy.lanes.timeout(self.moment.lane, self.dispatch)
    }

    /// When the claim and the leases end that were taken for it.
    pub fn lease_until(&self) -> Timestamp {
        self.policy.lanes.lease_until(self.moment.lane, self.dispatch, self.moment.now)
    }
}
