//! The cooldown: an endpoint's "not before" time, from its `Retry-After`. It is holding, probing or over.
//!
//! It belongs to the endpoint, so new webhooks wait too. Once the time has come, one webhook (or the health URL) probes
//! the endpoint, and its success ends the cooldown. Without a success the cooldown is over when its window ends (RT-1).

use std::time::Duration;

use crate::entropy::Entropy;
use crate::health::Health;
use crate::time::Timestamp;

/// The longest `Retry-After` that is honoured; longer ones count as this. It is the retention of the log's topics: a webhook
/// that waited longer could no longer be rebuilt.
pub const RETRY_AFTER_MAX: Duration = Duration::from_hours(168);
/// How long before a cooldown ends its health URL is asked: the sweep comes every second, and an answer may take 5 s.
pub const HEALTH_PROBE_LEAD: Duration = Duration::from_secs(10);
/// How far a busy answer of the health URL moves the cooldown: long enough for an overloaded endpoint to recover a little,
/// short beside the delays that endpoints ask for.
pub const HEALTH_BUSY_DELAY: Duration = Duration::from_secs(30);

/// An endpoint's "not before" time and the window in which its webhooks are released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cooldown {
    /// Nothing is sent before this.
    pub ends_at: Timestamp,
    /// The cooldown is over from here on, probed or not.
    pub window_end: Timestamp,
    /// When the probe that is under way counts as lost; `None` when none is.
    pub probe_until: Option<Timestamp>,
    /// The health URL said that the endpoint is ready: no webhook needs to probe.
    pub confirmed: bool,
}

/// What a cooldown says to one webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CooldownAnswer {
    /// No request may be made yet.
    Holding,
    /// Another request probes the endpoint, and its answer decides.
    Probing,
    /// The request may be made as the probe.
    Probe,
    /// The cooldown has ended.
    Over,
}

impl Cooldown {
    /// A cooldown without a probe.
    pub const fn new(ends_at: Timestamp, window_end: Timestamp) -> Self {
        Self { ends_at, window_end, probe_until: None, confirmed: false }
    }

    /// What the cooldown says at `now`.
    pub fn answer(&self, now: Timestamp) -> CooldownAnswer {
        if now < self.ends_at {
            CooldownAnswer::Holding
        } else if self.confirmed || now >= self.window_end {
            CooldownAnswer::Over
        } else if self.probe_until.is_some_and(|until| now < until) {
            CooldownAnswer::Probing
        } else {
            CooldownAnswer::Probe
        }
    }

    /// When a webhook that meets the cooldown at `now` is released: drawn evenly from the remaining window.
    pub fn release_at(&self, now: Timestamp, entropy: Entropy) -> Timestamp {
        let start = self.ends_at.max(now);
        entropy.moment(start, self.window_end.max(start))
    }

    /// Of two cooldowns of one endpoint, the longer one. Commutative, associative, idempotent.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let rank =
            |cooldown: &Self| (cooldown.ends_at, cooldown.window_end, cooldown.confirmed, cooldown.probe_until);
        if rank(&other) > rank(&self) { other } else { self }
    }

    /// The cooldown without its probe, which is what a snapshot carries: a probe does not outlive the hot state.
    #[must_use]
    pub const fn settled(self) -> Self {
        Self { probe_until: None, confirmed: false, ..self }
    }

    /// The cooldown after its health URL answered.
    #[must_use]
    pub fn after_health_probe(self, health: Health) -> Self {
        if health == Health::Good {
            Self { confirmed: true, ..self }
        } else {
            let (ends_at, window_end) =
                (self.ends_at.plus(HEALTH_BUSY_DELAY), self.window_end.plus(HEALTH_BUSY_DELAY));
            Self { ends_at, window_end, ..self }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    #[test]
    fn one_probe_goes_through_and_after_the_window_all_do() {
        let cooldown = Cooldown::new(at(100), at(150));
        assert_eq!(cooldown.answer(at(99)), CooldownAnswer::Holding);
        assert_eq!(cooldown.answer(at(100)), CooldownAnswer::Probe);
        let probed = Cooldown { probe_until: Some(at(130)), ..cooldown };
        assert_eq!(probed.answer(at(129)), CooldownAnswer::Probing);
        assert_eq!(probed.answer(at(130)), CooldownAnswer::Probe, "a lost probe is replaced");
        assert_eq!(cooldown.answer(at(150)), CooldownAnswer::Over);
    }

    #[test]
    fn a_health_url_ends_or_moves_the_cooldown() {
        let cooldown = Cooldown::new(at(60_000), at(90_000));
        assert_eq!(cooldown.after_health_probe(Health::Good).answer(at(60_000)), CooldownAnswer::Over);
        assert_eq!(cooldown.after_health_probe(Health::Bad).answer(at(89_999)), CooldownAnswer::Holding);
    }
}
