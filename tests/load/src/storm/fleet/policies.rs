//! What the clients of a fleet do with a refusal. Every time comes out of howk's own decisions in `domain`; what stands here
//! is which of them a policy asks, in the order in which `settle` and `admit` ask them.

use std::time::Duration;

use domain::{
    COHORT_STEP, ConfigId, Cooldown, CooldownAnswer, Entropy, PolicyError, ReleasePolicy, RetryPolicy, Timestamp,
};

use crate::storm::fleet::terms::RETRY_AFTER;

/// How long a probe's answer is awaited before the next request may probe; the default of `delivery.timeout`.
const PROBE_LEASE: Duration = Duration::from_secs(30);
/// The longest delay of a client that backs off.
const BACKOFF_MAX: Duration = Duration::from_hours(24);

/// The default of `retry.release_window`.
const WINDOW: f64 = 1.5;
/// Where that window ends, at 1.5 times `Retry-After`: written out, for the targets judge the policy by it.
const WINDOW_END: Duration = Duration::from_secs(90);
/// How long an answer takes.
pub(crate) const ANSWER: Duration = Duration::from_millis(50);

/// How the clients of a fleet repeat what was refused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientPolicy {
    /// As the table calls it.
    pub(crate) name: &'static str,
    pub(crate) rule: Rule,
    pub(crate) promise: Promise,
}

/// What must hold of a policy.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Promise {
    /// It shows the storm.
    Storm,
    /// Nothing; it stands there to be compared.
    Nothing,
    /// Every wait is between `Retry-After` and this (RT-1).
    Wait { longest: Duration },
    /// The same, and its surge and its drain are small.
    Calm { longest: Duration },
}

/// When a refused request is sent again.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rule {
    /// At `Retry-After`, give or take the jitter, however often it was refused.
    Lockstep(RetryPolicy),
    /// After a delay that doubles with each refusal and begins at `Retry-After`.
    Exponential(RetryPolicy),
    /// Within the release window of the refused request's own cooldown.
    Window(ReleasePolicy),
    /// The same, but all clients share one cooldown: one request probes, and the others go on waiting for its answer.
    Probed(ReleasePolicy),
}

/// A request that was refused and waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refused {
    /// The client's number.
    pub(crate) client: usize,
    /// How often it was sent.
    pub(crate) attempts: u32,
    /// When the client learned of the latest refusal.
    pub(crate) at: Timestamp,
}

/// What a client does when a request's time has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Send it.
    Send,
    /// Send it as the probe: its answer decides for the others.
    Probe,
    /// Wait on.
    Wait(Timestamp),
}

impl ClientPolicy {
    /// `Retry-After` ± 5 %: what most clients do.
    pub(crate) fn lockstep() -> Result<Self, PolicyError> {
        let rule = Rule::Lockstep(RetryPolicy::new(RETRY_AFTER, BACKOFF_MAX, 0.05)?);
        Ok(Self { name: "lockstep ±5 %", rule, promise: Promise::Storm })
    }

    /// Exponential backoff from `Retry-After` with howk's jitter.
    pub(crate) fn exponential() -> Result<Self, PolicyError> {
        let rule = Rule::Exponential(RetryPolicy::new(RETRY_AFTER, BACKOFF_MAX, 0.2)?);
        Ok(Self { name: "exponential ±20 %", rule, promise: Promise::Nothing })
    }

    /// howk's release window.
    pub(crate) fn window() -> Self {
        let promise = Promise::Calm { longest: WINDOW_END };
        Self { name: "window", rule: Rule::Window(ReleasePolicy::default()), promise }
    }

    /// howk's release window behind one probe. A shared cooldown ends when the last refusal of the incident lets it.
    pub(crate) fn probed(incident: Duration) -> Self {
        let promise = Promise::Calm { longest: WINDOW_END + incident + ANSWER };
        Self { name: "window and probe", rule: Rule::Probed(ReleasePolicy::default()), promise }
    }

    /// howk's release window, each of so many cohorts of clients later than the one before.
    pub(crate) fn cohorts(cohorts: u32) -> Result<Self, PolicyError> {
        let rule = Rule::Window(ReleasePolicy::new(WINDOW, cohorts)?);
        let promise = Promise::Wait { longest: WINDOW_END + COHORT_STEP * cohorts.saturating_sub(1) };
        Ok(Self { name: "cohorts", rule, promise })
    }
}

/// All clients of a fleet: the policy, and what they remember.
#[derive(Debug)]
pub(crate) struct Clients<'a> {
    rule: Rule,
    /// By the client's number.
    ids: &'a [ConfigId],
    /// The cooldown that they share, where they share one.
    cooldown: Option<Cooldown>,
}

impl<'a> Clients<'a> {
    /// Clients that know of no cooldown.
    pub(crate) const fn new(rule: Rule, ids: &'a [ConfigId]) -> Self {
        Self { rule, ids, cooldown: None }
    }

    /// When a refused request is sent again.
    pub(crate) fn retry_at(&mut self, refused: &Refused, entropy: Entropy) -> Timestamp {
        let now = refused.at;
        match self.rule {
            Rule::Lockstep(retry) => now.plus(retry.delay(1, entropy)),
            Rule::Exponential(retry) => now.plus(retry.delay(refused.attempts, entropy)),
            Rule::Window(release) | Rule::Probed(release) => {
                let cooldown = release.cooldown(RETRY_AFTER, now);
                if matches!(self.rule, Rule::Probed(_)) {
                    self.cooldown = Some(self.cooldown.map_or(cooldown, |known| known.merge(cooldown)));
                }
                // As `settle`: the backoff, but never before the cooldown lets the request go.
                let backoff = now.plus(RetryPolicy::default().delay(refused.attempts, entropy));
                backoff.max(self.released(release, cooldown, (refused, entropy)))
            }
        }
    }

    /// Whether a request whose time has come is sent.
    pub(crate) fn due(&mut self, refused: &Refused, now: Timestamp, entropy: Entropy) -> Due {
        let (Rule::Probed(release), Some(cooldown)) = (self.rule, self.cooldown) else { return Due::Send };
        // As `admit`.
        match cooldown.answer(now) {
            CooldownAnswer::Over => Due::Send,
            CooldownAnswer::Probe => {
                self.cooldown = Some(Cooldown { probe_until: Some(now.plus(PROBE_LEASE)), ..cooldown });
                Due::Probe
            }
            CooldownAnswer::Holding | CooldownAnswer::Probing => {
                Due::Wait(self.released(release, cooldown, (&Refused { at: now, ..*refused }, entropy)))
            }
        }
    }

    /// A probe was taken: as after `settle`, the cooldown is over.
    pub(crate) fn probe_taken(&mut self) {
        self.cooldown = None;
    }

    fn released(
        &self,
        release: ReleasePolicy,
        cooldown: Cooldown,
        (refused, entropy): (&Refused, Entropy),
    ) -> Timestamp {
        let cohort = self.ids.get(refused.client).map(|id| release.cohort_delay(id)).unwrap_or_default();
        cooldown.release_at(refused.at, entropy).plus(cohort)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids() -> Vec<ConfigId> {
        (0..100).map(|client| ConfigId::parse(&format!("client-{client}")).unwrap()).collect()
    }

    const FIRST: Refused = Refused { client: 0, attempts: 1, at: Timestamp::from_ms(1_000) };
    const EARLIEST: Entropy = Entropy::new(0);
    const LATEST: Entropy = Entropy::new(u64::MAX);

    fn waits(policy: ClientPolicy, refused: &Refused) -> [u64; 2] {
        let ids = ids();
        let mut clients = Clients::new(policy.rule, &ids);
        [EARLIEST, LATEST].map(|entropy| clients.retry_at(refused, entropy).since(refused.at).as_secs())
    }

    #[test]
    fn each_policy_waits_as_its_name_says() {
        let again = Refused { attempts: 2, ..FIRST };
        assert_eq!(waits(ClientPolicy::lockstep().unwrap(), &FIRST), [57, 63]);
        assert_eq!(waits(ClientPolicy::lockstep().unwrap(), &again), [57, 63], "it never backs off");
        assert_eq!(waits(ClientPolicy::exponential().unwrap(), &FIRST), [48, 72]);
        assert_eq!(waits(ClientPolicy::exponential().unwrap(), &again), [96, 144]);
        assert_eq!(waits(ClientPolicy::window(), &FIRST), [60, 90]);
        assert_eq!(waits(ClientPolicy::window(), &again), [60, 90]);
        let longer_backoff = Refused { attempts: 5, ..FIRST };
        assert_eq!(waits(ClientPolicy::window(), &longer_backoff), [128, 192], "RT-1: Retry-After is a floor");
    }

    #[test]
    fn cohorts_begin_one_after_the_other() {
        let ids = ids();
        let mut clients = Clients::new(ClientPolicy::cohorts(3).unwrap().rule, &ids);
        let waits =
            (0..100).map(|client| clients.retry_at(&Refused { client, ..FIRST }, EARLIEST).since(FIRST.at).as_secs());
        assert_eq!(waits.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>(), [60, 70, 80]);
    }

    #[test]
    fn one_probe_goes_and_the_others_follow_only_when_it_was_taken() {
        let ids = ids();
        let mut clients = Clients::new(ClientPolicy::probed(Duration::ZERO).rule, &ids);
        clients.retry_at(&FIRST, EARLIEST);
        let over = FIRST.at.plus(RETRY_AFTER);
        assert!(
            matches!(clients.due(&FIRST, over.minus(Duration::from_millis(1)), EARLIEST), Due::Wait(at) if at == over)
        );
        assert_eq!(clients.due(&FIRST, over, EARLIEST), Due::Probe);
        assert!(matches!(clients.due(&FIRST, over, LATEST), Due::Wait(at) if at == over.plus(RETRY_AFTER / 2)));
        let refused = Refused { attempts: 2, at: over, ..FIRST };
        clients.retry_at(&refused, EARLIEST);
        let again = over.plus(RETRY_AFTER);
        let before = clients.due(&FIRST, over.plus(RETRY_AFTER / 4), LATEST);
        assert_eq!(before, Due::Wait(again.plus(RETRY_AFTER / 2)), "a refused probe holds all others");
        assert_eq!(clients.due(&FIRST, again, EARLIEST), Due::Probe);
        clients.probe_taken();
        assert_eq!(clients.due(&FIRST, again, EARLIEST), Due::Send);
    }
}
