//! The virtual clock of a simulation: what happens in which millisecond.
//!
//! Events of one millisecond come in the order in which they were put in, so that one seed gives one history.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use domain::Timestamp;

/// How far ahead events are found by their index; nearly all of a steady fleet's are within two seconds.
const NEAR: usize = 2_048;
const MILLISECOND: Duration = Duration::from_millis(1);

/// Events by their time.
#[derive(Debug)]
pub(crate) struct Calendar<E> {
    now: Timestamp,
    /// The next milliseconds: index 0 is the one after `now`.
    near: VecDeque<Vec<E>>,
    far: BTreeMap<Timestamp, Vec<E>>,
}

impl<E> Calendar<E> {
    /// A calendar without events, whose clock shows `now`.
    pub(crate) fn new(now: Timestamp) -> Self {
        Self { now, near: (0..NEAR).map(|_| Vec::new()).collect(), far: BTreeMap::new() }
    }

    /// Puts an event in; one that is due by now happens in the next millisecond.
    pub(crate) fn put(&mut self, at: Timestamp, event: E) {
        let next = self.now.plus(MILLISECOND);
        let ahead = usize::try_from(at.as_ms().saturating_sub(next.as_ms())).unwrap_or(usize::MAX);
        match self.near.get_mut(ahead) {
            Some(events) => events.push(event),
            None => self.far.entry(at.max(next)).or_default().push(event),
        }
    }

    /// Moves the clock on by a millisecond and returns its events. `spent` is an earlier answer, whose memory is used again.
    pub(crate) fn advance(&mut self, mut spent: Vec<E>) -> (Timestamp, Vec<E>) {
        spent.clear();
        self.now = self.now.plus(MILLISECOND);
        let mut events = self.near.pop_front().unwrap_or_default();
        self.near.push_back(spent);
        // What was put in long before comes first.
        if self.far.first_key_value().is_some_and(|(at, _)| *at <= self.now)
            && let Some((_, mut early)) = self.far.pop_first()
        {
            early.append(&mut events);
            events = early;
        }
        (self.now, events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_at_their_time_in_the_order_in_which_they_were_put_in() {
        let mut calendar = Calendar::new(Timestamp::from_ms(100));
        for (at, event) in [(5_000, 'd'), (102, 'b'), (0, 'a'), (102, 'c')] {
            calendar.put(Timestamp::from_ms(at), event);
        }
        let (mut spent, mut seen) = (Vec::new(), Vec::new());
        loop {
            let (now, events) = calendar.advance(spent);
            if now.as_ms() == 4_000 {
                calendar.put(Timestamp::from_ms(5_000), 'e');
            }
            seen.extend(events.iter().map(|event| (now.as_ms(), *event)));
            spent = events;
            if now.as_ms() == 6_000 {
                break;
            }
        }
        assert_eq!(seen, [(101, 'a'), (102, 'b'), (102, 'c'), (5_000, 'd'), (5_000, 'e')]);
    }
}
