//! Health URLs: which one to ask before a cooldown ends, and what its answer makes of the cooldown.
//!
//! The scheduler's sweep of the unhealthy endpoints calls [`health_url_to_ask`] and, with the answer, [`health_answered`].
//! The request to the health URL itself is the sender's.

use std::cmp::Reverse;

use crate::cooldown::HEALTH_PROBE_LEAD;
use crate::effect::{Effect, EndpointState, Transition};
use crate::endpoint::Endpoint;
use crate::health::Health;
use crate::time::Timestamp;

/// The health URLs of endpoints, by a pattern of the endpoint's domain: `*` is any domain, `*.x.com` is `x.com` and every
/// domain below it, and any other text is that domain alone.
#[derive(Debug, Clone, Default)]
pub struct HealthUrls(Vec<(String, Endpoint)>);

impl HealthUrls {
    /// Health URLs by pattern, in any order.
    pub fn new(mut urls: Vec<(String, Endpoint)>) -> Self {
        urls.sort_by_key(|(pattern, _)| (pattern.starts_with('*'), Reverse(pattern.len())));
        Self(urls)
    }

    /// The health URL of a domain: of the patterns that fit, the narrowest one's.
    pub fn of(&self, domain: &str) -> Option<&Endpoint> {
        self.0.iter().find(|(pattern, _)| fits(pattern, domain)).map(|(_, url)| url)
    }
}

fn fits(pattern: &str, domain: &str) -> bool {
    let (pattern, domain) = (pattern.to_ascii_lowercase(), domain.to_ascii_lowercase());
    match pattern.strip_prefix("*.") {
        Some(parent) => domain == parent || domain.ends_with(&format!(".{parent}")),
        None => pattern == "*" || pattern == domain,
    }
}

/// The health URL to ask now about `endpoint`, whose state is `state`; `None` when there is nothing to ask.
///
/// It is asked from [`HEALTH_PROBE_LEAD`] before the cooldown ends until its window ends, unless an earlier answer has
/// confirmed already that the endpoint is ready.
pub fn health_url_to_ask<'a>(
    endpoint: &Endpoint,
    state: &EndpointState,
    urls: &'a HealthUrls,
    now: Timestamp,
) -> Option<&'a Endpoint> {
    let cooldown = state.cooldown?;
    let is_time = cooldown.ends_at <= now.plus(HEALTH_PROBE_LEAD) && now < cooldown.window_end;
    if is_time && !cooldown.confirmed { urls.of(endpoint.domain()) } else { None }
}

/// The effects of a health URL's answer: a ready endpoint needs no webhook as a probe, a busy one has its cooldown moved.
///
/// One change on the version that was seen. If another change was faster the answer is dropped, and the next sweep asks
/// again.
pub fn health_answered(endpoint: &Endpoint, state: &EndpointState, health: Health) -> Vec<Effect> {
    let change = |cooldown| {
        Effect::Change(Transition {
            endpoint: endpoint.clone(),
            version: state.version,
            circuit: state.circuit,
            cooldown: Some(cooldown),
        })
    };
    state.cooldown.map(|cooldown| change(cooldown.after_health_probe(health))).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::Circuit;
    use crate::cooldown::{Cooldown, HEALTH_BUSY_DELAY};
    use std::time::Duration;

    const fn at(ms: u64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    fn endpoint() -> Endpoint {
        Endpoint::parse("https://api.x.com/hooks").unwrap()
    }

    fn urls(patterns: &[&str]) -> HealthUrls {
        let url =
            |pattern: &&str| Endpoint::parse(&format!("https://health.example/{}", pattern.replace('*', "any")));
        HealthUrls::new(patterns.iter().map(|pattern| ((*pattern).to_owned(), url(pattern).unwrap())).collect())
    }

    fn state(cooldown: Option<Cooldown>) -> EndpointState {
        EndpointState { version: 4, circuit: Circuit::Open { since: at(1) }, cooldown, buckets: Vec::new() }
    }

    #[test]
    fn d6_patterns_match_any_subdomains_or_exactly() {
        assert!(fits("*", "a.b"));
        assert!(fits("*.x.com", "a.x.com") && fits("*.x.com", "x.com") && !fits("*.x.com", "ax.com"));
        assert!(fits("X.com", "x.COM") && !fits("x.com", "a.x.com"));
    }

    #[test]
    fn the_narrowest_pattern_that_fits_names_the_health_url() {
        for patterns in [["*", "*.x.com", "*.api.x.com", "api.x.com"], ["api.x.com", "*.api.x.com", "*.x.com", "*"]] {
            let urls = urls(&patterns);
            let of = |domain: &str| urls.of(domain).unwrap().url().to_owned();
            assert_eq!(of("api.x.com"), "https://health.example/api.x.com");
            assert_eq!(of("b.api.x.com"), "https://health.example/any.api.x.com");
            assert_eq!(of("b.x.com"), "https://health.example/any.x.com");
            assert_eq!(of("other.org"), "https://health.example/any");
        }
        assert!(urls(&["y.com"]).of("x.com").is_none());
    }

    #[test]
    fn a_health_url_is_asked_from_ten_seconds_before_the_end_until_the_window_is_over() {
        let cooldown = Cooldown::new(at(60_000), at(90_000));
        for (now, asked) in
            [(0, false), (49_999, false), (50_000, true), (60_000, true), (89_999, true), (90_000, false)]
        {
            let urls = urls(&["*"]);
            let found = health_url_to_ask(&endpoint(), &state(Some(cooldown)), &urls, at(now));
            assert_eq!(found.is_some(), asked, "at {now}");
        }
        let asked = |state: &EndpointState, urls: &HealthUrls| {
            health_url_to_ask(&endpoint(), state, urls, at(55_000)).is_some()
        };
        assert!(!asked(&state(None), &urls(&["*"])), "no cooldown");
        assert!(!asked(&state(Some(cooldown)), &urls(&["y.com"])), "no health URL for this domain");
        let confirmed = Cooldown { confirmed: true, ..cooldown };
        assert!(!asked(&state(Some(confirmed)), &urls(&["*"])), "the endpoint has confirmed that it is ready");
    }

    #[test]
    fn an_answer_confirms_or_moves_the_cooldown_and_leaves_the_circuit() {
        let cooldown = Cooldown::new(at(60_000), at(90_000));
        let later = |at: Timestamp| at.plus(HEALTH_BUSY_DELAY);
        let moved = Cooldown::new(later(cooldown.ends_at), later(cooldown.window_end));
        for (health, expected) in [(Health::Good, Cooldown { confirmed: true, ..cooldown }), (Health::Bad, moved)] {
            let state = state(Some(cooldown));
            let effects = health_answered(&endpoint(), &state, health);
            let [Effect::Change(transition)] = effects.as_slice() else { panic!("{effects:?}") };
            assert_eq!((transition.version, transition.circuit), (state.version, state.circuit));
            assert_eq!(transition.cooldown, Some(expected), "{health:?}");
        }
        assert_eq!(health_answered(&endpoint(), &state(None), Health::Good), [], "the cooldown ended meanwhile");
        assert!(HEALTH_BUSY_DELAY > Duration::ZERO);
    }
}
