//! The operator's replay: the webhook of a dead letter begins a new life.
//!
//! `delivery`'s dead-letters use-case calls [`replay`] for each dead letter, and [`replay_effects`] for those that are
//! replayed together. Two callers of one dead letter: the lease lets one through. If that caller dies after the publish,
//! a second replay makes the same dispatch, and a dispatch is claimed once (CL-1).

use crate::dead_letter::{DeadLetter, DeadLetterEntry};
use crate::effect::{Effect, Write};
use crate::lane::Lane;
use crate::record::Record;
use crate::status::Status;
use crate::time::Timestamp;
use crate::webhook::Dispatch;

/// What is known of a dead letter that an operator wants replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayFacts {
    /// Its index entry.
    pub entry: DeadLetterEntry,
    /// Whether this caller holds the lease on the entry.
    pub is_leased: bool,
    /// The dead letter itself; `None` once the log's retention has removed it.
    pub dead_letter: Option<DeadLetter>,
}

/// What becomes of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replay {
    /// The webhook is handed to the fast lane as this dispatch.
    Begin(Dispatch),
    /// The log no longer holds the dead letter.
    NotFound,
    /// Another caller holds the lease and replays it.
    InProgress,
}

/// Decides what becomes of a replay. A new life counts its attempts from 1.
pub fn replay(facts: &ReplayFacts, now: Timestamp) -> Replay {
    match &facts.dead_letter {
        None => Replay::NotFound,
        Some(_) if !facts.is_leased => Replay::InProgress,
        Some(dead_letter) => Replay::Begin(dead_letter.dispatch.replay(now)),
    }
}

/// The effects of replays that are made together, each the entry of a dead letter and the dispatch that [`replay`] gave:
/// the dispatches are durable first, then readers find their statuses, and the entries are forgotten last. An entry that
/// a crash leaves on the index can be replayed again, once the lease has run out.
pub fn replay_effects(replays: &[(DeadLetterEntry, Dispatch)]) -> Vec<Effect> {
    let publishes = replays.iter().map(|(_, dispatch)| {
        let record = Record::Dispatch(Lane::Fast, dispatch.clone());
        Effect::Publish(record)
    });
    let statuses = replays.iter().map(|(entry, dispatch)| {
        let (id, config_id) = (entry.id.clone(), entry.config_id.clone());
        let status = Status::pending(id, config_id, dispatch.number, dispatch.scheduled_at);
        Effect::Write(Write::Merge(Status { replayed_from: dispatch.replayed_from, ..status }))
    });
    let forgets = replays.iter().map(|(entry, _)| Effect::Forget(entry.clone()));
    publishes.chain(statuses).chain(forgets).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dead_letter::{Position, ReasonType};
    use crate::rebuild::index_entry;
    use crate::samples::{NOW, Scene, later, words};
    use crate::status::Phase;

    fn facts() -> ReplayFacts {
        let dead_letter = DeadLetter {
            dispatch: Dispatch { number: 7, ..Scene::new().attempt(5, 5).dispatch },
            reason_type: ReasonType::Exhausted,
            reason: String::new(),
            last_error: None,
            status: Some(500),
            response_body: None,
            at: NOW,
        };
        let entry = index_entry(&dead_letter, Position::default());
        ReplayFacts { entry, is_leased: true, dead_letter: Some(dead_letter) }
    }

    #[test]
    fn a_replay_is_a_new_life_that_begins_at_attempt_1() {
        let Replay::Begin(dispatch) = replay(&facts(), later(9)) else { panic!("it may be replayed") };
        assert_eq!((dispatch.number, dispatch.attempt, dispatch.replayed_from), (8, 1, 7));
        assert_eq!(dispatch.scheduled_at, later(9));
    }

    #[test]
    fn a_dead_letter_is_replayed_by_the_holder_of_its_lease_while_the_log_has_it() {
        let leased_by_another = ReplayFacts { is_leased: false, ..facts() };
        assert_eq!(replay(&leased_by_another, NOW), Replay::InProgress);
        for is_leased in [true, false] {
            let gone = ReplayFacts { is_leased, dead_letter: None, ..facts() };
            assert_eq!(replay(&gone, NOW), Replay::NotFound);
        }
    }

    #[test]
    fn dl_1_a_replay_is_durable_before_it_shows_and_forgotten_last() {
        let facts = facts();
        let Replay::Begin(dispatch) = replay(&facts, NOW) else { panic!("it may be replayed") };
        let both = vec![(facts.entry.clone(), dispatch.clone()), (facts.entry.clone(), dispatch.clone())];
        let effects = replay_effects(&both);
        let expected = ["publish to fast", "publish to fast", "merge", "merge", "forget", "forget"];
        assert_eq!(words(&effects), expected);
        let shared: Vec<bool> = effects.windows(2).map(|pair| pair[0].trip().takes(&pair[1])).collect();
        assert_eq!(shared, [true, false, true, false, true], "three trips, however many are replayed");
        let Some(Effect::Write(Write::Merge(status))) = effects.get(2) else { panic!("{effects:?}") };
        assert_eq!((status.phase, status.replayed_from, status.dispatch), (Phase::Pending, 7, 8));
    }
}
