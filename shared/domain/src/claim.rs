//! The claim: a lease on one dispatch, with owner, expiry and fence (CL-1).
//!
//! The stores apply [`ClaimState::take`] atomically; a Redis script mirrors it, and the contract suite holds both equal.

use crate::status::{Next, Status};
use crate::time::Timestamp;

/// Who holds a claim: unique to one invocation of one process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimHolder(pub String);

/// Counts up with every claim taken on a webhook; a stale fence changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Fence(pub u64);

/// What the store keeps of a webhook's claim.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaimState {
    /// Every dispatch up to this one is settled.
    pub settled: u64,
    /// Whether the webhook's life ended at `settled`.
    pub terminal: bool,
    /// What follows the settled dispatch, while it waits or is held.
    pub next: Option<Next>,
    /// The claim last taken: its dispatch, owner and expiry.
    pub held: Option<(u64, ClaimHolder, Timestamp)>,
    /// The fence last given.
    pub fence: Fence,
}

/// What asks for a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The dispatch to work on.
    pub dispatch: u64,
    /// The dead-lettered dispatch that its life began from; 0 in the first life.
    pub replayed_from: u64,
    /// Who asks.
    pub holder: ClaimHolder,
    /// When the claim would end.
    pub until: Timestamp,
}

/// A dispatch that was settled before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duplicate {
    /// Whether the webhook's life ended.
    pub terminal: bool,
    /// What follows exactly this dispatch, so that a lost due entry can be written again.
    pub next: Option<Next>,
}

/// What the claim says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimFact {
    /// The claim is ours.
    Taken {
        /// The fence to settle with.
        fence: Fence,
        /// An earlier owner of the same dispatch, perhaps ourselves, never settled it nor gave it back.
        takeover: bool,
    },
    /// This dispatch, or a later one, was settled: this record is a duplicate.
    Settled(Duplicate),
    /// Somebody else works on this dispatch.
    Held {
        /// When its claim ends.
        until: Timestamp,
    },
    /// The store could not say.
    Unknown,
}

impl ClaimState {
    /// Takes the claim if it is free; what is returned tells whether it was.
    pub fn take(&mut self, request: &ClaimRequest, now: Timestamp) -> ClaimFact {
        let earlier_life = self.terminal && request.replayed_from < self.settled;
        if self.settled >= request.dispatch || earlier_life {
            let next = if self.settled == request.dispatch { self.next } else { None };
            return ClaimFact::Settled(Duplicate { terminal: self.terminal, next });
        }
        let mut takeover = false;
        if let Some((dispatch, holder, until)) = &self.held {
            if *dispatch > request.dispatch {
                return ClaimFact::Settled(Duplicate { terminal: false, next: None });
            }
            if *dispatch == request.dispatch {
                if *holder != request.holder && now < *until {
                    return ClaimFact::Held { until: *until };
                }
                takeover = true;
            }
        }
        // By the clock, so that a fence given before the store was lost is stale after it.
        self.fence = Fence(self.fence.0.saturating_add(1).max(now.as_ms()));
        self.held = Some((request.dispatch, request.holder.clone(), request.until));
        ClaimFact::Taken { fence: self.fence, takeover }
    }

    /// Goes by what is known of the webhook now. An end puts the claim of whoever still works on that life out of the way.
    pub fn follow(&mut self, status: &Status) {
        self.settled = status.settled();
        self.terminal = status.phase.is_terminal();
        self.next = status.next;
        if self.terminal {
            self.held = None;
        }
    }

    /// Gives a claim back; a stale fence changes nothing.
    pub fn give_back(&mut self, fence: Fence) {
        if self.fence == fence {
            self.held = None;
        }
    }

    /// Whether who was given `fence` for `dispatch` may still settle it: nobody was given a later one. A store that was
    /// lost in between knows of none, and takes the word of who still works.
    pub fn admits(&self, dispatch: u64, fence: Fence) -> bool {
        fence >= self.fence && self.settled < dispatch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(dispatch: u64, holder: &str, until: u64) -> ClaimRequest {
        let (holder, until) = (ClaimHolder(holder.to_owned()), Timestamp::from_ms(until));
        ClaimRequest { dispatch, replayed_from: 0, holder, until }
    }

    #[test]
    fn cl_1_one_live_holder_and_takeover_after_expiry() {
        let mut state = ClaimState::default();
        let now = Timestamp::from_ms;
        assert_eq!(state.take(&request(1, "a", 100), now(0)), ClaimFact::Taken { fence: Fence(1), takeover: false });
        assert_eq!(state.take(&request(1, "b", 200), now(99)), ClaimFact::Held { until: now(100) });
        assert_eq!(
            state.take(&request(1, "b", 200), now(100)),
            ClaimFact::Taken { fence: Fence(100), takeover: true }
        );
        assert!(!state.admits(1, Fence(1)), "a stale fence changes nothing");
        assert!(state.admits(1, Fence(100)));
        assert!(ClaimState::default().admits(1, Fence(1)), "a lost store takes the word of who still works");
    }

    #[test]
    fn a_later_dispatch_supersedes_the_claim_of_an_earlier_one() {
        let mut state = ClaimState::default();
        state.take(&request(1, "a", 100), Timestamp::EPOCH);
        assert!(matches!(
            state.take(&request(2, "b", 100), Timestamp::EPOCH),
            ClaimFact::Taken { takeover: false, .. }
        ));
        assert!(matches!(state.take(&request(1, "c", 100), Timestamp::EPOCH), ClaimFact::Settled(_)));
    }

    #[test]
    fn a_settled_dispatch_is_a_duplicate_and_tells_what_follows_it() {
        let next = Some(Next { due: Timestamp::from_ms(9), attempt: 2 });
        let mut state = ClaimState { settled: 3, next, ..ClaimState::default() };
        let now = Timestamp::EPOCH;
        assert_eq!(state.take(&request(3, "a", 1), now), ClaimFact::Settled(Duplicate { terminal: false, next }));
        assert_eq!(
            state.take(&request(2, "a", 1), now),
            ClaimFact::Settled(Duplicate { terminal: false, next: None })
        );
        assert!(matches!(state.take(&request(4, "a", 1), now), ClaimFact::Taken { .. }));
    }

    #[test]
    fn a_dead_webhook_lives_again_only_by_its_replay() {
        let mut state = ClaimState { settled: 3, terminal: true, ..ClaimState::default() };
        let now = Timestamp::EPOCH;
        assert!(matches!(state.take(&request(4, "a", 1), now), ClaimFact::Settled(Duplicate { terminal: true, .. })));
        let replay = ClaimRequest { replayed_from: 3, ..request(4, "a", 1) };
        assert!(matches!(state.take(&replay, now), ClaimFact::Taken { .. }));
    }
}
