//! The gate: an endpoint's "not before" time, from its `Retry-After`.
//!
//! It belongs to the endpoint, so new webhooks wait too. Until the window has passed, one webhook (or a health URL)
//! probes first and its success lets the rest through (RT-1).

use std::time::Duration;

use crate::circuit::Health;
use crate::entropy::Entropy;
use crate::time::Timestamp;

/// The longest `Retry-After` that is honoured; longer ones count as this.
pub const RETRY_AFTER_MAX: Duration = Duration::from_hours(168);
/// How long before a gate opens its health URL is asked.
pub const HEALTH_PROBE_LEAD: Duration = Duration::from_secs(10);
/// How far a busy answer of the health URL moves the gate.
pub const HEALTH_BUSY_DELAY: Duration = Duration::from_secs(30);

/// An endpoint's "not before" time and the window in which its webhooks are released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gate {
    /// Nothing is sent before this.
    pub opens_at: Timestamp,
    /// From here on the gate is history.
    pub window_end: Timestamp,
    /// A probe is under way and counts as lost after this.
    pub probe_until: Option<Timestamp>,
    /// The health URL said that the endpoint is ready: no webhook needs to probe.
    pub confirmed: bool,
}

/// What a gate says to one webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateAnswer {
    /// Not yet.
    Closed,
    /// Somebody probes; wait for it.
    ProbeUnderWay,
    /// Be the probe.
    Probe,
    /// Go ahead.
    Open,
}

impl Gate {
    /// A gate that nobody has probed.
    pub const fn new(opens_at: Timestamp, window_end: Timestamp) -> Self {
        Self { opens_at, window_end, probe_until: None, confirmed: false }
    }

    /// What the gate says at `now`.
    pub fn answer(&self, now: Timestamp) -> GateAnswer {
        if now < self.opens_at {
            GateAnswer::Closed
        } else if self.confirmed || now >= self.window_end {
            GateAnswer::Open
        } else if self.probe_until.is_some_and(|until| now < until) {
            GateAnswer::ProbeUnderWay
        } else {
            GateAnswer::Probe
        }
    }

    /// When a webhook that finds the gate closed at `now` is released: drawn evenly from what is left of the window.
    pub fn release_at(&self, now: Timestamp, entropy: Entropy) -> Timestamp {
        let start = self.opens_at.max(now);
        entropy.moment(start, self.window_end.max(start))
    }

    /// Of two gates of one endpoint, the one that lets it rest longer. Commutative, associative, idempotent.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let rank = |gate: &Self| (gate.opens_at, gate.window_end, gate.confirmed, gate.probe_until);
        if rank(&other) > rank(&self) { other } else { self }
    }

    /// The gate without its probe, which is what a snapshot carries: a probe does not outlive the hot state.
    #[must_use]
    pub const fn settled(self) -> Self {
        Self { probe_until: None, confirmed: false, ..self }
    }

    /// The gate after its health URL answered.
    #[must_use]
    pub fn after_health_probe(self, health: Health) -> Self {
        if health == Health::Good {
            Self { confirmed: true, ..self }
        } else {
            let (opens_at, window_end) =
                (self.opens_at.plus(HEALTH_BUSY_DELAY), self.window_end.plus(HEALTH_BUSY_DELAY));
            Self { opens_at, window_end, ..self }
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
    fn lets_one_probe_through_then_everybody_after_the_window() {
        let gate = Gate::new(at(100), at(150));
        assert_eq!(gate.answer(at(99)), GateAnswer::Closed);
        assert_eq!(gate.answer(at(100)), GateAnswer::Probe);
        let probed = Gate { probe_until: Some(at(130)), ..gate };
        assert_eq!(probed.answer(at(129)), GateAnswer::ProbeUnderWay);
        assert_eq!(probed.answer(at(130)), GateAnswer::Probe, "a lost probe is replaced");
        assert_eq!(gate.answer(at(150)), GateAnswer::Open);
    }

    #[test]
    fn a_health_url_opens_or_moves_the_gate() {
        let gate = Gate::new(at(60_000), at(90_000));
        assert_eq!(gate.after_health_probe(Health::Good).answer(at(60_000)), GateAnswer::Open);
        assert_eq!(gate.after_health_probe(Health::Bad).answer(at(89_999)), GateAnswer::Closed);
    }
}
