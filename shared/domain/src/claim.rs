//! The claim: a lease on one dispatch, with holder, expiry and fence (CL-1).
//!
//! The in-memory store calls [`ClaimState::take`] under a lock. A Redis script does the same atomically, and the contract
//! suite holds the two equal.

use crate::status::{Next, Status};
use crate::time::Timestamp;

/// The name of a claim's holder: unique to one record in one invocation of one process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimHolder(pub String);

/// The number of a claim, which grows with every claim taken on a webhook. A write with a stale fence changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Fence(pub u64);

/// The state of a webhook's claim in the store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaimState {
    /// Every dispatch up to this one is settled.
    pub settled: u64,
    /// Whether the webhook ended, delivered or dead, at `settled`.
    pub terminal: bool,
    /// The dispatch that follows the settled one, while it waits or is held.
    pub next: Option<Next>,
    /// The claim last taken: its dispatch, holder and expiry.
    pub held: Option<(u64, ClaimHolder, Timestamp)>,
    /// The fence last given.
    pub fence: Fence,
}

/// A request for a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The dispatch to work on.
    pub dispatch: u64,
    /// The dead-lettered dispatch that this life of the webhook was replayed from; 0 in the first life.
    pub replayed_from: u64,
    /// The holder of the claim, if it is given.
    pub holder: ClaimHolder,
    /// When the claim would end.
    pub until: Timestamp,
}

/// A dispatch that was settled before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duplicate {
    /// Whether the webhook ended, delivered or dead.
    pub terminal: bool,
    /// The dispatch that follows this very one, so that a lost due entry can be written again.
    pub next: Option<Next>,
}

/// What became of a request for a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimFact {
    /// The claim was given.
    Taken {
        /// The fence to settle with.
        fence: Fence,
        /// An earlier holder of the same dispatch, perhaps the same process, neither settled it nor gave it back.
        takeover: bool,
    },
    /// This dispatch, or a later one, was settled: the record is a duplicate.
    Settled(Duplicate),
    /// Another holder works on this dispatch.
    Held {
        /// When its claim ends.
        until: Timestamp,
    },
    /// The store could not say.
    Unknown,
}

impl ClaimState {
    /// Takes the claim if it is free, and returns whether it was.
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
        // At least the time in milliseconds: after the loss of the store, fences that were given before it are stale.
        self.fence = Fence(self.fence.0.saturating_add(1).max(now.as_ms()));
        self.held = Some((request.dispatch, request.holder.clone(), request.until));
        ClaimFact::Taken { fence: self.fence, takeover }
    }

    /// Brings the claim in line with the merged status of the webhook. An end drops the claim of a holder that still works
    /// on the life that ended, so that a replay can be claimed at once.
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

    /// Whether the holder of `fence` may still settle `dispatch`: no later fence was given. A store that was lost after
    /// the fence was given knows no fence, and admits its holder.
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
        assert!(
            ClaimState::default().admits(1, Fence(1)),
            "a store that was lost admits the holder that still works"
        );
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
