//! The pause between repetitions of something that fails: it doubles from one repetition to the next.

use std::time::Duration;

/// A pause that doubles up to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoublingPause {
    next: Duration,
    max: Duration,
}

impl DoublingPause {
    /// Pauses of `first`, twice `first`, and so on, none longer than `max`.
    pub const fn new(first: Duration, max: Duration) -> Self {
        Self { next: first, max }
    }

    /// The pause before the next repetition, without taking it.
    pub fn peek(&self) -> Duration {
        self.next.min(self.max)
    }

    /// Takes the pause before the next repetition; the one after it is twice as long.
    pub fn take(&mut self) -> Duration {
        let pause = self.peek();
        self.next = pause.saturating_mul(2);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_up_to_its_bound() {
        let seconds = Duration::from_secs;
        let mut pause = DoublingPause::new(seconds(1), seconds(5));
        assert_eq!(std::array::from_fn(|_| pause.take()), [1, 2, 4, 5, 5].map(seconds));
        assert_eq!((pause.peek(), pause.peek()), (seconds(5), seconds(5)));
        assert_eq!(DoublingPause::new(seconds(9), seconds(5)).take(), seconds(5));
        let mut longest = DoublingPause::new(Duration::MAX, Duration::MAX);
        assert_eq!((longest.take(), longest.take()), (Duration::MAX, Duration::MAX));
    }
}
