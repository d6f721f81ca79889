//! The status of one webhook, ordered by (life, whether it ended, dispatch, phase) so that merging needs no clocks (ST-1).
//!
//! A life begins with the acceptance of a webhook or with a replay of its dead letter. An end outranks every later dispatch
//! of its life: after a loss of the store a record can be worked on again although its webhook had ended, and the status
//! of that work must not hide the end. Only a replay, a new life, outranks an end.

use std::cmp::Ordering;

use crate::dead_letter::ReasonType;
use crate::id::{ConfigId, WebhookId};
use crate::time::Timestamp;
use crate::wait_reason::WaitReason;
use crate::webhook::Dispatch;

/// The number of attempts that are kept for readers: all of a webhook with the default `max_attempts`.
pub const ATTEMPTS_KEPT: usize = 20;

/// How far a dispatch has come, in the order in which it gets there. Two holders can end one dispatch in two ways; then
/// the delivery counts, because it cannot be undone, and a replay of the dead letter would send the webhook again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Published to a lane, not yet claimed.
    Pending,
    /// Claimed: a request may be under way.
    Delivering,
    /// Settled; the next dispatch has a due time.
    Waiting,
    /// Settled; the next dispatch waits for the owner to resume the endpoint.
    Held,
    /// Settled, and the webhook is dead-lettered.
    Dead,
    /// Settled, and the webhook is delivered: a 2xx.
    Delivered,
}

impl Phase {
    /// Whether the dispatch needs no further work of its own.
    pub const fn is_settled(self) -> bool {
        !matches!(self, Self::Pending | Self::Delivering)
    }

    /// Whether the webhook needs no further work at all.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Delivered | Self::Dead)
    }
}

/// The dispatch that follows a settled one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Next {
    /// Its due time.
    pub due: Timestamp,
    /// The attempt it makes. 1-based.
    pub attempt: u32,
}

/// The status of one webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The dead-lettered dispatch that this life was replayed from; 0 in the first life.
    pub replayed_from: u64,
    /// The dispatch that this is about. 1-based.
    pub dispatch: u64,
    /// How far it has come.
    pub phase: Phase,
    /// Requests made so far in this life.
    pub attempts: u32,
    /// The dispatch that follows, while waiting or held.
    pub next: Option<Next>,
    /// When the last request began.
    pub last_attempt_at: Option<Timestamp>,
    /// The status code of the last answer.
    pub last_status: Option<u16>,
    /// Why the next dispatch waits, while waiting or held.
    pub waiting_for: Option<WaitReason>,
    /// Why the webhook was given up, once it is dead.
    pub reason_type: Option<ReasonType>,
    /// Why the last request failed.
    pub last_error: Option<String>,
    /// When this was written; for readers only, it orders nothing.
    pub updated_at: Timestamp,
    /// The tenant.
    pub config_id: ConfigId,
    /// The webhook.
    pub id: WebhookId,
}

impl Status {
    /// The status of a webhook that has just been published as `dispatch`.
    pub fn pending(id: WebhookId, config_id: ConfigId, dispatch: u64, now: Timestamp) -> Self {
        Self {
            replayed_from: 0,
            dispatch,
            phase: Phase::Pending,
            attempts: 0,
            next: None,
            last_attempt_at: None,
            last_status: None,
            waiting_for: None,
            reason_type: None,
            last_error: None,
            updated_at: now,
            config_id,
            id,
        }
    }

    /// This status with the last failure that the dispatch carries along.
    #[must_use]
    pub fn after(self, dispatch: &Dispatch) -> Self {
        let Some(failure) = &dispatch.last_failure else { return self };
        Self {
            last_attempt_at: Some(failure.at),
            last_status: failure.status,
            last_error: Some(failure.error.clone()),
            ..self
        }
    }

    /// The number up to which every dispatch is settled.
    pub const fn settled(&self) -> u64 {
        if self.phase.is_settled() { self.dispatch } else { self.dispatch.saturating_sub(1) }
    }

    /// The further one of two statuses of one webhook. Commutative, associative and idempotent (ST-1).
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let updated_at = self.updated_at.max(other.updated_at);
        let further = if other > self { other } else { self };
        Self { updated_at, ..further }
    }
}

impl Ord for Status {
    fn cmp(&self, other: &Self) -> Ordering {
        // How far it has come; the other fields only make the order total.
        let place = |status: &Self| (status.replayed_from, status.phase.is_terminal(), status.dispatch, status.phase);
        let made = |status: &Self| (status.attempts, status.next, status.last_attempt_at, status.last_status);
        let why = |status: &Self| (status.waiting_for, status.reason_type);
        let of = |status: &Self| (place(status), made(status), why(status));
        let tie = |status: &Self| (status.updated_at, status.config_id.clone(), status.id.clone());
        of(self)
            .cmp(&of(other))
            .then_with(|| self.last_error.cmp(&other.last_error))
            .then_with(|| tie(self).cmp(&tie(other)))
    }
}

impl PartialOrd for Status {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Why a request was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The first request of a webhook's life.
    First,
    /// An earlier attempt failed.
    Retry,
    /// The owner replayed a dead letter.
    Replay,
    /// The claim of an earlier holder ran out unsettled, and that holder may have made the request too.
    Takeover,
    /// The store could not say whether this request was made before: it did not answer, or was lost since it could have
    /// been.
    Unclaimed,
}

/// One request that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// 1-based within this life.
    pub number: u32,
    /// The dispatch that made it.
    pub dispatch: u64,
    /// Why it was made.
    pub cause: Cause,
    /// When it began.
    pub at: Timestamp,
    /// How long it took.
    pub took: std::time::Duration,
    /// The status code of the answer.
    pub status: Option<u16>,
    /// Why it failed; `None` for a success.
    pub error: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_status() -> impl Strategy<Value = Status> {
        let phases = [Phase::Pending, Phase::Delivering, Phase::Waiting, Phase::Held, Phase::Dead, Phase::Delivered];
        let reasons = (
            proptest::option::of(proptest::sample::select(&WaitReason::ALL[..])),
            proptest::option::of(proptest::sample::select(&ReasonType::ALL[..])),
        );
        let place = (0_u64..2, 1_u64..4, 0_usize..6, 0_u64..3, proptest::option::of(200_u16..203));
        (place, reasons).prop_map(
            move |((replayed_from, dispatch, phase, at, last_status), (waiting_for, reason_type))| Status {
                replayed_from,
                dispatch,
                phase: phases[phase],
                last_status,
                waiting_for,
                reason_type,
                updated_at: Timestamp::from_ms(at),
                ..Status::pending(
                    WebhookId::fresh(Timestamp::EPOCH, 0),
                    ConfigId::parse("t").unwrap(),
                    dispatch,
                    Timestamp::EPOCH,
                )
            },
        )
    }

    proptest! {
        #[test]
        fn st_1_merging_is_commutative_associative_and_idempotent(a in any_status(), b in any_status(), c in any_status()) {
            let merge = |x: &Status, y: &Status| x.clone().merge(y.clone());
            prop_assert_eq!(merge(&a, &b), merge(&b, &a));
            prop_assert_eq!(merge(&merge(&a, &b), &c), merge(&a, &merge(&b, &c)));
            prop_assert_eq!(merge(&a, &a), a.clone());
            prop_assert!(merge(&a, &b).updated_at >= a.updated_at, "updated_at never goes back");
        }

        #[test]
        fn st_1_nothing_but_a_replay_outranks_an_end(a in any_status(), b in any_status()) {
            let merged = a.clone().merge(b.clone());
            let ended = [&a, &b].into_iter().any(|one| one.phase.is_terminal() && one.replayed_from == merged.replayed_from);
            prop_assert_eq!(merged.phase.is_terminal(), ended);
            prop_assert_eq!(merged.replayed_from, a.replayed_from.max(b.replayed_from));
        }

        #[test]
        fn st_1_a_delivery_outranks_a_dead_letter_of_its_dispatch(a in any_status()) {
            let ended = |phase| Status { phase, ..a.clone() };
            prop_assert_eq!(ended(Phase::Dead).merge(ended(Phase::Delivered)).phase, Phase::Delivered);
        }
    }
}
