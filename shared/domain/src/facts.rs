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

/// What became of a request for a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseFact {
    /// The lease was given.
    Taken,
    /// The limit is reached.
    Full,
    /// No lease is needed: there is no limit, or the store could not say.
    Unlimited,
}

/// How far back the store remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// The store was last rebuilt then. It may not know what became of dispatches that were published before.
    Since(Timestamp),
    /// What waits was put back then, and the statuses are still being put back: the store does not know yet of every webhook
    /// that ended before.
    StatusesPending(Timestamp),
    /// The store was lost and is not rebuilt yet. That it does not know something means nothing.
    Lost,
    /// The store could not say.
    Unknown,
}

/// Everything that one round trip read and took. What was taken is given back unless a request follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// How far back the other facts can be relied on.
    pub memory: Memory,
    /// The claim on the dispatch.
    pub claim: ClaimFact,
    /// The state of the endpoint; `None` when the store could not say.
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

/// The name that leases are held under. Rivals for one dispatch have different names, so that neither gives back the
/// leases of the other (LN-1).
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
    /// The remaining time of the invocation; `None` in a server, which has no deadline.
    pub remaining: Option<Duration>,
    /// The drawn number.
    pub entropy: Entropy,
}

/// Everything that a decision looks at.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// The dispatch.
    pub dispatch: &'a Dispatch,
    /// The facts.
    pub facts: &'a Facts,
    /// The policy.
    pub policy: &'a Policy,
    /// The time and the lane.
    pub moment: Moment,
}

impl Situation<'_> {
    /// Whether the request may have been made before without the store knowing it: the attempt was possible before the store
    /// was last rebuilt, or its webhook was accepted before under the same idempotency key.
    ///
    /// A dispatch that only waited since then counts too: nothing shows whether an earlier dispatch of the same attempt
    /// made the request.
    pub fn is_doubtful(&self) -> bool {
        let Dispatch { webhook, last_failure, replayed_from, scheduled_at, .. } = self.dispatch;
        let begun_at = if *replayed_from > 0 { *scheduled_at } else { webhook.created_at };
        let possible_since = last_failure.as_ref().map_or(begun_at, |failure| failure.at);
        match self.facts.memory {
            Memory::Since(rebuilt_at) => possible_since < rebuilt_at,
            // A caller that repeats a key makes the same webhook again, with a new time of acceptance.
            Memory::StatusesPending(rebuilt_at) => {
                let is_repeated = *replayed_from == 0 && webhook.idempotency_key.is_some();
                possible_since < rebuilt_at || is_repeated
            }
            Memory::Lost | Memory::Unknown => false,
        }
    }

    /// Whether an earlier holder of this attempt may have made its request: its claim, or that of an earlier dispatch of the
    /// attempt, ran out unsettled.
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
