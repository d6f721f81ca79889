//! The rate limiter in front of a receiver: a token bucket.

use domain::Timestamp;

/// Takes a request for each token; tokens come back at a steady rate, and so many of them are kept.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    rate: f64,
    depth: f64,
    tokens: f64,
    filled_at: Timestamp,
}

impl TokenBucket {
    /// A full bucket. `rate` is in tokens a second, `depth` in tokens.
    pub(crate) const fn full(rate: f64, depth: f64, now: Timestamp) -> Self {
        Self { rate, depth, tokens: depth, filled_at: now }
    }

    /// Whether a request that arrives at `now` is taken.
    pub(crate) fn takes(&mut self, now: Timestamp) -> bool {
        if now > self.filled_at {
            let came_back = self.rate * now.since(self.filled_at).as_secs_f64();
            self.tokens = (self.tokens + came_back).min(self.depth);
            self.filled_at = now;
        }
        let takes = self.tokens >= 1.0;
        if takes {
            self.tokens -= 1.0;
        }
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_its_depth_at_once_and_its_rate_from_then_on() {
        let at = Timestamp::from_ms;
        let mut bucket = TokenBucket::full(1_000.0, 50.0, at(0));
        let mut taken_at = |ms| (0..200).filter(|_| bucket.takes(at(ms))).count();
        assert_eq!(taken_at(0), 50, "the depth");
        assert_eq!(taken_at(0), 0);
        assert_eq!(taken_at(10), 10, "what came back in 10 ms");
        assert_eq!(taken_at(10_000), 50, "no more than its depth is kept");
    }
}
