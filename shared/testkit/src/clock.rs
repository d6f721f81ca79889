//! Port `clock` for tests: time stands still until the test moves it.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use async_trait::async_trait;
use delivery::ports::time::Clock;
use domain::Timestamp;
use parking_lot::Mutex;

/// A clock that is moved by hand.
#[derive(Debug)]
pub struct ManualClock {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    now: Timestamp,
    /// The sleepers with the times of their wakes, in the order of these times and then of falling asleep.
    sleepers: BTreeMap<Place, Waker>,
    next_sleeper: u64,
}

type Place = (Timestamp, u64);

impl ManualClock {
    /// A clock that stands at `now`.
    pub fn new(now: Timestamp) -> Self {
        let state = State { now, sleepers: BTreeMap::new(), next_sleeper: 0 };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// The time, for callers that do not have the port at hand.
    pub fn now_value(&self) -> Timestamp {
        self.state.lock().now
    }

    /// Moves time on and wakes every sleeper whose time has come, earliest first.
    pub fn advance(&self, duration: Duration) {
        let due = {
            let mut state = self.state.lock();
            state.now = state.now.plus(duration);
            let now = state.now;
            let later = state.sleepers.split_off(&(now, u64::MAX));
            std::mem::replace(&mut state.sleepers, later)
        };
        due.into_values().for_each(Waker::wake);
    }

    /// Moves time to the next wake, and says when that is; `None`, and nothing moves, when there is no sleeper.
    pub fn advance_to_next_wake(&self) -> Option<Timestamp> {
        let wake = self.next_wake()?;
        self.advance(wake.since(self.now_value()));
        Some(wake)
    }

    /// When the next sleeper wakes; `None` when there is no sleeper.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.state.lock().sleepers.first_key_value().map(|((wake, _), _)| *wake)
    }

    /// How many sleep.
    pub fn sleepers(&self) -> usize {
        self.state.lock().sleepers.len()
    }
}

/// One sleep. Dropping it, as a killed process does, takes it off the clock.
struct Sleep {
    state: Arc<Mutex<State>>,
    wake: Timestamp,
    place: Option<Place>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let shared = Arc::clone(&self.state);
        let mut state = shared.lock();
        if self.wake <= state.now {
            return Poll::Ready(());
        }
        let place = self.place.unwrap_or((self.wake, state.next_sleeper));
        state.next_sleeper = state.next_sleeper.max(place.1 + 1);
        state.sleepers.insert(place, context.waker().clone());
        self.place = Some(place);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.state.lock().sleepers.remove(&place);
        }
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.now_value()
    }

    async fn sleep(&self, duration: Duration) {
        let wake = self.now_value().plus(duration);
        Sleep { state: Arc::clone(&self.state), wake, place: None }.await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use futures::stream::{FuturesUnordered, StreamExt};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn sleepers_wake_in_order_and_not_before_their_time() {
        let clock = ManualClock::new(Timestamp::EPOCH);
        let mut sleeps: FuturesUnordered<_> =
            [3, 1, 2, 1].into_iter().enumerate().map(|(n, s)| clock.sleep(SECOND * s).map(move |()| n)).collect();
        assert_eq!(sleeps.next().now_or_never(), None);
        assert_eq!(clock.next_wake(), Some(Timestamp::from_ms(1000)));
        clock.advance(Duration::from_millis(999));
        assert_eq!(sleeps.next().now_or_never(), None);
        clock.advance(SECOND * 5);
        let woken: Vec<_> = std::iter::from_fn(|| sleeps.next().now_or_never().flatten()).collect();
        assert_eq!(woken.len(), 4);
        assert_eq!(woken.last(), Some(&0), "the longest sleep ends last: {woken:?}");
        assert_eq!((clock.next_wake(), clock.sleepers()), (None, 0));
    }

    #[test]
    fn a_dropped_sleep_leaves_the_clock() {
        let clock = ManualClock::new(Timestamp::EPOCH);
        let mut sleep = clock.sleep(SECOND);
        assert_eq!((&mut sleep).now_or_never(), None);
        drop(sleep);
        assert_eq!(clock.next_wake(), None);
        assert_eq!(clock.sleep(Duration::ZERO).now_or_never(), Some(()));
    }

    #[test]
    fn time_moves_from_wake_to_wake() {
        let clock = ManualClock::new(Timestamp::EPOCH);
        let mut sleep = clock.sleep(SECOND);
        assert_eq!((&mut sleep).now_or_never(), None);
        assert_eq!(clock.advance_to_next_wake(), Some(Timestamp::from_ms(1000)));
        assert_eq!((&mut sleep).now_or_never(), Some(()));
        assert_eq!((clock.advance_to_next_wake(), clock.now()), (None, Timestamp::from_ms(1000)));
    }
}
