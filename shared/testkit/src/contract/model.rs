//! Model-based: random sequences on a store and on the domain's pure functions, which must never differ.

use delivery::ports::hot_state::AcquireRequest;
use domain::{
    Attempt, ClaimFact, ClaimState, Dispatch, Fence, LeaseFact, Pace, Phase, ReasonType, Settlement, Status, Tokens,
    WaitReason, Write,
};
use std::time::Duration;

use crate::contract::store::{Store, claim, open};
use crate::generate::{at, attempt, dispatch, dispatch_to, endpoint, numbered, status};
use crate::random::SeededRandom;

const SEEDS: u64 = 12;
const STEPS: usize = 120;

/// What a store should know of one webhook.
#[derive(Debug, Default)]
struct Known {
    claim: ClaimState,
    status: Option<Status>,
    attempts: Vec<Attempt>,
    fences: Vec<Fence>,
}

impl Known {
    fn merge(&mut self, status: &Status) {
        let merged = match self.status.take() {
            Some(known) => known.merge(status.clone()),
            None => status.clone(),
        };
        self.claim.follow(&merged);
        self.status = Some(merged);
    }

    fn settle(&mut self, settlement: &Settlement) {
        if let Some(fence) = settlement.fence {
            if !self.claim.admits(settlement.status.settled(), fence) {
                return;
            }
            self.claim.held = None;
        }
        if let Some(attempt) = &settlement.attempt {
            let place = |attempt: &Attempt| (attempt.dispatch, attempt.number);
            if !self.attempts.iter().any(|known| place(known) == place(attempt)) {
                self.attempts.push(attempt.clone());
                self.attempts.sort_by_key(place);
            }
        }
        self.merge(&settlement.status);
    }

    fn shown(&self) -> Option<Status> {
        let status = self.status.clone()?;
        let taken_up = self.claim.held.as_ref().is_some_and(|(dispatch, ..)| *dispatch == status.dispatch);
        let phase = if status.phase == Phase::Pending && taken_up { Phase::Delivering } else { status.phase };
        Some(Status { phase, ..status })
    }
}

/// A webhook in the store and in the model, and what chance does to both.
struct Walk<'a> {
    store: &'a Store,
    random: SeededRandom,
    first: Dispatch,
    known: Known,
    now_ms: u64,
}

impl Walk<'_> {
    async fn step(&mut self) {
        self.now_ms += self.random.below(40);
        match self.random.below(8) {
            0..=3 => self.take().await,
            4..=5 => self.settle().await,
            6 if !self.known.fences.is_empty() => self.unclaim().await,
            _ => self.merge().await,
        }
    }

    fn any_dispatch(&self) -> Dispatch {
        let near = self.known.claim.settled + self.random.below(3);
        let replayed_from = if self.random.below(2) == 0 { 0 } else { self.known.claim.settled };
        Dispatch { replayed_from, ..numbered(&self.first, near.max(1)) }
    }

    fn replayed_from(&self) -> u64 {
        self.known.status.as_ref().map_or(0, |status| status.replayed_from)
    }

    fn any_fence(&self) -> Fence {
        match self.random.below(8) {
            0 => Fence(at(self.now_ms).as_ms() + self.random.below(3)),
            1..=3 => self.random.pick(&self.known.fences).copied().unwrap_or_default(),
            _ => self.known.claim.fence,
        }
    }

    fn any_status(&self) -> Status {
        let phases = [Phase::Waiting, Phase::Held, Phase::Delivered, Phase::Dead, Phase::Pending, Phase::Waiting];
        let phase = self.random.pick(&phases).copied().unwrap_or(Phase::Waiting);
        let number = self.known.claim.settled + self.random.below(3);
        let later = Dispatch { attempt: 1, ..numbered(&self.first, number.max(1)) };
        let next = status(&later, phase).next.map(|next| domain::Next { due: at(self.now_ms + 100), ..next });
        // Mostly of this life, now and then of the one before or of a replay.
        let replayed_from = match (self.random.below(6), self.replayed_from()) {
            (0, _) => self.known.claim.settled,
            (1, known) => known.saturating_sub(1),
            (_, known) => known,
        };
        let known = status(&later, phase);
        // Of two statuses of one place, the reason may be all that differs.
        let waiting_for = known.waiting_for.and_then(|_| self.random.pick(&WaitReason::ALL).copied());
        let reason_type = known.reason_type.and_then(|_| self.random.pick(&ReasonType::ALL).copied());
        Status { replayed_from, next, waiting_for, reason_type, updated_at: at(self.now_ms), ..known }
    }

    async fn take(&mut self) {
        let wanted = self.any_dispatch();
        let holder = if self.random.below(2) == 0 { "a" } else { "b" };
        let request = claim(&wanted, holder, at(self.now_ms + self.random.below(60)));
        let now = at(self.now_ms);
        let expected = self.known.claim.take(&request, now);
        let facts =
            self.store.hot.acquire(AcquireRequest { now, claim: request.clone(), ..open(&wanted, holder) }).await;
        assert_eq!(facts.claim, expected, "{request:?} at {now:?}");
        if let ClaimFact::Taken { fence, .. } = expected {
            self.known.fences.push(fence);
        }
    }

    async fn settle(&mut self) {
        let fence = (self.random.below(6) > 0 && !self.known.fences.is_empty()).then(|| self.any_fence());
        let status = self.any_status();
        let attempted = Dispatch { attempt: 1, ..numbered(&self.first, status.dispatch) };
        let attempt = (self.random.below(2) == 0).then(|| attempt(&attempted));
        let settlement = Settlement { fence, status, attempt };
        self.known.settle(&settlement);
        self.store.write(Write::Settle(settlement)).await;
    }

    async fn unclaim(&mut self) {
        let fence = self.any_fence();
        self.known.claim.give_back(fence);
        self.store.write(Write::Unclaim(self.first.webhook.id.clone(), fence)).await;
    }

    async fn merge(&mut self) {
        let status = self.any_status();
        self.known.merge(&status);
        self.store.write(Write::Merge(status)).await;
    }

    async fn compare(&self) {
        let id = &self.first.webhook.id;
        assert_eq!(self.store.status(id).await, self.known.shown());
        let kept = self.known.attempts.len().saturating_sub(domain::ATTEMPTS_KEPT);
        let attempts = self.known.status.as_ref().map(|_| self.known.attempts.iter().skip(kept).cloned().collect());
        assert_eq!(self.store.attempts(id).await, attempts);
    }
}

/// `ClaimState`: random takes, settlements, merges and claims given back leave store and domain equal at every step.
pub async fn claims_go_as_the_domain_says(store: &Store) {
    for seed in 0..SEEDS {
        let known = Known::default();
        let mut walk = Walk { store, random: SeededRandom::new(seed), first: dispatch(), known, now_ms: 0 };
        for _ in 0..STEPS {
            walk.step().await;
            walk.compare().await;
        }
    }
}

/// `Tokens::take` and `Tokens::give_back`: random asks at random times leave store and domain equal at every step.
pub async fn tokens_go_as_the_domain_says(store: &Store) {
    let random = SeededRandom::new(25);
    for burst_ms in [0, 250, 1000] {
        let pace = Pace { interval: Duration::from_millis(100), burst: Duration::from_millis(burst_ms) };
        let (target, mut tokens, mut now_ms) = (endpoint(), Tokens::default(), 0);
        for _ in 0..STEPS {
            now_ms += random.below(90);
            let (now, asks) = (at(now_ms), dispatch_to(&target));
            let (after, expected) = tokens.take(pace, now);
            let facts = store.hot.acquire(AcquireRequest { now, pace: Some(pace), ..open(&asks, "a") }).await;
            assert_eq!(facts.token, expected, "at {now:?} with {tokens:?}");
            let gives_back = expected == domain::Token::Taken && random.below(4) == 0;
            tokens = if gives_back { after.give_back(pace) } else { after };
            let leases = facts.leases(&asks, gives_back.then_some(pace));
            assert_eq!(facts.on_endpoint, LeaseFact::Taken);
            store.write(Write::GiveBack(leases)).await;
        }
    }
}
