//! The two lanes: how long a request may take, which endpoints are known to be slow, and the slow lane's pace.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::policy_error::{PolicyError, broken, within};
use crate::tally::{Bucket, Tally, recent};
use crate::time::Timestamp;
use crate::webhook::Dispatch;

/// So many requests within the window must outlast the fast timeout before their endpoint is known as slow. One or two may
/// be a hiccup of the network; with three, the divert saves more slots of the fast lane than a wrong guess costs.
const KNOWN_SLOW_AFTER: u32 = 3;

/// Where a dispatch is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Short timeout, no pacing.
    Fast,
    /// Full timeout, paced per endpoint.
    Slow,
}

/// How long requests may take, and how fast the slow lane goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LanePolicy {
    fast_timeout: Duration,
    timeout: Duration,
    slow_rate: f64,
}

/// How long a claim and its leases outlive the longest request: the time in which its outcome is published and stored. The
/// log and the store answer in milliseconds; 5 s cover a change of a partition's leader (P8).
pub const SETTLE_MARGIN: Duration = Duration::from_secs(5);

impl LanePolicy {
    /// How long a request may take, in either lane.
    pub const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_mins(10);
    /// The highest pace of the slow lane, in requests a second to one endpoint.
    pub const SLOW_RATE_MAX: u32 = 100_000;
    /// The pace of the slow lane where the settings name none.
    pub const SLOW_RATE_DEFAULT: u32 = 20;

    /// Builds a policy; `slow_rate` is the slow lane's requests a second to one endpoint.
    ///
    /// Bounds: [`Self::TIMEOUT`] for both, `fast_timeout <= timeout`, and `0 < slow_rate <=` [`Self::SLOW_RATE_MAX`].
    ///
    /// # Errors
    /// A [`PolicyError`] that names the field.
    pub fn new(fast_timeout: Duration, timeout: Duration, slow_rate: f64) -> Result<Self, PolicyError> {
        within("delivery.fast_timeout", &Self::TIMEOUT, &fast_timeout)?;
        within("delivery.timeout", &Self::TIMEOUT, &timeout)?;
        if fast_timeout > timeout {
            return Err(broken("delivery.fast_timeout", "must not be longer than delivery.timeout"));
        }
        let is_rate = slow_rate > 0.0 && slow_rate <= f64::from(Self::SLOW_RATE_MAX);
        if !is_rate {
            let rule = format!("must be above 0 and at most {}", Self::SLOW_RATE_MAX);
            return Err(broken("concurrency.slow_lane_rate", rule));
        }
        Ok(Self { fast_timeout, timeout, slow_rate })
    }

    /// The longest that a request may take. The last attempt is never cut short: nothing would follow it.
    pub fn timeout(&self, lane: Lane, dispatch: &Dispatch) -> Duration {
        match lane {
            Lane::Fast if !dispatch.is_last_attempt() => self.fast_timeout,
            Lane::Fast | Lane::Slow => self.timeout,
        }
    }

    /// When the claim and the leases end that are taken at `now` for a request. Claim, leases and probe
    /// end at the same time, so a probe recognises its own lease by that time (P8, CB-1).
    pub fn lease_until(&self, lane: Lane, dispatch: &Dispatch, now: Timestamp) -> Timestamp {
        now.plus(self.timeout(lane, dispatch)).plus(SETTLE_MARGIN)
    }

    /// How much of an invocation must be left for a request to be begun: its timeout, and time to settle.
    pub fn needs(&self, lane: Lane, dispatch: &Dispatch) -> Duration {
        self.timeout(lane, dispatch) + SETTLE_MARGIN
    }

    /// The most that [`Self::needs`] asks for: an invocation that is shorter would never begin a last attempt.
    pub fn longest(&self) -> Duration {
        self.timeout + SETTLE_MARGIN
    }

    /// How long a request may take in the fast lane.
    pub const fn fast_timeout(&self) -> Duration {
        self.fast_timeout
    }

    /// The longest that any request may take.
    pub const fn full_timeout(&self) -> Duration {
        self.timeout
    }

    /// Whether a request that took `took` was slow.
    pub fn is_slow(&self, took: Duration) -> bool {
        took >= self.fast_timeout
    }

    /// Whether an endpoint keeps being slow: often enough within the window, and in at least half of what was counted.
    pub fn is_known_slow(&self, buckets: &[Bucket], window: Duration, now: Timestamp) -> bool {
        let Tally { slow, successes, .. } = recent(buckets, window, Timestamp::EPOCH, now);
        slow >= KNOWN_SLOW_AFTER && slow >= successes
    }

    /// The slow lane's pace.
    pub fn pace(&self) -> Pace {
        Pace { interval: Duration::from_secs_f64(1.0 / self.slow_rate), burst: Duration::from_secs(1) }
    }
}

impl Default for LanePolicy {
    fn default() -> Self {
        Self {
            fast_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(30),
            slow_rate: f64::from(Self::SLOW_RATE_DEFAULT),
        }
    }
}

/// A token bucket's rate: one token every `interval`, at most `burst` worth of them saved up (one at least).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Time between two tokens.
    pub interval: Duration,
    /// Time's worth of tokens that may be saved up.
    pub burst: Duration,
}

/// The state of an endpoint's token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// When the bucket would be full again, in microseconds since the epoch.
    pub full_at_us: u64,
    /// The turn given to the last webhook that had to wait, in microseconds since the epoch.
    pub last_turn_us: u64,
}

/// The answer of a token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// A token was taken.
    Taken,
    /// No token is left; the webhook's turn is at this time.
    Wait(Timestamp),
    /// No pace applies.
    Free,
}

impl Tokens {
    /// Takes a token at `now`, or gives out a turn. Turns are an interval apart, so that waiting webhooks come back one by one.
    pub fn take(self, pace: Pace, now: Timestamp) -> (Self, Token) {
        let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let (interval, now_us) = (micros(pace.interval).max(1), now.as_ms().saturating_mul(1000));
        let saved_max = micros(pace.burst).max(interval);
        let full_at_us = self.full_at_us.max(now_us).saturating_add(interval);
        if full_at_us <= now_us.saturating_add(saved_max) {
            return (Self { full_at_us, ..self }, Token::Taken);
        }
        let last_turn_us = self.last_turn_us.max(now_us).saturating_add(interval);
        (Self { last_turn_us, ..self }, Token::Wait(Timestamp::from_ms(last_turn_us.div_ceil(1000))))
    }

    /// Gives a token back that was taken and not used.
    #[must_use]
    pub fn give_back(self, pace: Pace) -> Self {
        let interval = u64::try_from(pace.interval.as_micros()).unwrap_or(u64::MAX);
        Self { full_at_us: self.full_at_us.saturating_sub(interval), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn p25_one_per_sixty_seconds_is_exactly_one() {
        let pace = LanePolicy::new(Duration::from_secs(5), Duration::from_secs(30), 1.0 / 60.0).unwrap().pace();
        let (tokens, first) = Tokens::default().take(pace, Timestamp::from_ms(1_000_000));
        assert_eq!(first, Token::Taken);
        let (tokens, second) = tokens.take(pace, Timestamp::from_ms(1_000_000));
        assert_eq!(second, Token::Wait(Timestamp::from_ms(1_060_000)));
        assert!(matches!(tokens.take(pace, Timestamp::from_ms(1_059_000)).1, Token::Wait(_)));
        assert_eq!(tokens.take(pace, Timestamp::from_ms(1_060_000)).1, Token::Taken);
    }

    proptest! {
        #[test]
        fn ln_tokens_never_exceed_burst_plus_rate(rate in 1_u32..50, asks in proptest::collection::vec(0_u64..50, 1..400)) {
            let pace = LanePolicy::new(Duration::from_secs(5), Duration::from_secs(30), f64::from(rate)).unwrap().pace();
            let (mut tokens, mut now, mut taken) = (Tokens::default(), 1_000_000_u64, 0_u64);
            for step in &asks {
                now += step;
                let (next, token) = tokens.take(pace, Timestamp::from_ms(now));
                tokens = next;
                taken += u64::from(token == Token::Taken);
            }
            let allowed = (now - 1_000_000) * u64::from(rate) / 1000 + u64::from(rate) + 1;
            prop_assert!(taken <= allowed, "{taken} > {allowed}");
        }
    }
}
