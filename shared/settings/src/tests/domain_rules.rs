//! Settings and `domain` agree: what a key may be is what the policy takes, and no more.

use std::time::Duration;

use domain::{CircuitPolicy, InflightLimits, LanePolicy, PolicyError, ReleasePolicy, RetryPolicy, Topic};

use super::{line, read};
use crate::key::variable;
use crate::settings::Settings;

/// The policies of these settings, as the wiring builds them.
fn policies(settings: &Settings) -> Result<(), PolicyError> {
    let Settings { retry, circuit_breaker: circuit, delivery, concurrency, .. } = settings;
    RetryPolicy::new(retry.base_delay, retry.max_delay, retry.jitter)?;
    ReleasePolicy::new(retry.release_window, retry.cohorts)?;
    LanePolicy::new(delivery.fast_timeout, delivery.timeout, f64::from(concurrency.slow_lane_rate))?;
    let (failures, window) = (circuit.failure_threshold, circuit.failure_window);
    CircuitPolicy::new(failures, window, circuit.recovery_timeout, circuit.success_threshold).map(drop)
}

/// Each key that a policy takes: its lowest and highest value and one beyond each, or none where the kind has none.
fn edges() -> Vec<(&'static str, [Option<String>; 4])> {
    let span = |low: Duration, high: Duration| {
        let ns = |duration: Duration| Some(format!("{}ns", duration.as_nanos()));
        let one = Duration::from_nanos(1);
        [ns(low), ns(high), ns(low.saturating_sub(one)), ns(high + one)]
    };
    let whole = |low: u32, high: u32| {
        let text = |number: Option<u32>| number.map(|number| number.to_string());
        [text(Some(low)), text(Some(high)), text(low.checked_sub(1)), text(high.checked_add(1))]
    };
    let fraction =
        |low: f64, high: f64| [low, high, low - 0.001, high + 0.001].map(|number| Some(number.to_string()));
    let (base, max) = (RetryPolicy::BASE_DELAY, RetryPolicy::MAX_DELAY);
    let (window, recovery) = (CircuitPolicy::FAILURE_WINDOW, CircuitPolicy::RECOVERY_TIMEOUT);
    let timeout = LanePolicy::TIMEOUT;
    vec![
        ("retry.base_delay", span(*base.start(), *base.end())),
        ("retry.max_delay", span(*max.start(), *max.end())),
        ("retry.jitter", fraction(0.0, 1.0)),
        ("retry.release_window", fraction(1.0, 10.0)),
        ("retry.cohorts", whole(*ReleasePolicy::COHORTS.start(), *ReleasePolicy::COHORTS.end())),
        ("retry.max_attempts", whole(1, domain::MAX_ATTEMPTS_MAX)),
        ("circuit_breaker.failure_threshold", whole(1, *CircuitPolicy::FAILURE_THRESHOLD.end())),
        ("circuit_breaker.failure_window", span(*window.start(), *window.end())),
        ("circuit_breaker.recovery_timeout", span(*recovery.start(), *recovery.end())),
        ("circuit_breaker.success_threshold", whole(1, *CircuitPolicy::SUCCESS_THRESHOLD.end())),
        ("delivery.fast_timeout", span(*timeout.start(), *timeout.end())),
        ("delivery.timeout", span(*timeout.start(), *timeout.end())),
        ("concurrency.slow_lane_rate", whole(1, LanePolicy::SLOW_RATE_MAX)),
        ("concurrency.max_inflight_per_endpoint", whole(1, InflightLimits::MAX)),
    ]
}

/// What lets every key but the one under test stand at its edge: nothing contradicts it.
fn companions(key: &str, text: &str) -> Vec<(String, String)> {
    let others: &[(&str, &str)] = match key {
        "retry.base_delay" => &[("retry.max_delay", "7d")],
        "retry.max_delay" => &[("retry.base_delay", "1ms")],
        "delivery.fast_timeout" => &[("delivery.timeout", "10m")],
        "delivery.timeout" => &[("delivery.fast_timeout", "100ms")],
        "circuit_breaker.recovery_timeout" => &[("ttl.circuit_state_ttl", "30d")],
        _ => &[],
    };
    let others = others.iter().map(|(other, text)| (variable(other), (*text).to_owned()));
    others.chain([(variable(key), text.to_owned())]).collect()
}

#[test]
fn every_bound_is_a_value_that_the_policy_takes_and_one_beyond_is_refused() {
    for (key, [low, high, below, above]) in edges() {
        for text in [low, high].into_iter().flatten() {
            let pairs = companions(key, &text);
            let pairs: Vec<_> = pairs.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
            let settings = read("", &pairs).unwrap_or_else(|errors| panic!("{key} = {text}: {errors}"));
            assert_eq!(policies(&settings), Ok(()), "{key} = {text}");
        }
        for text in [below, above].into_iter().flatten() {
            let pairs = companions(key, &text);
            let pairs: Vec<_> = pairs.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
            assert!(line("", &pairs).starts_with(&format!("{key} (")), "{key} = {text}");
        }
    }
}

#[test]
fn every_topic_of_the_log_has_a_key_of_its_name_and_the_default_of_the_domain() {
    let settings = Settings::default();
    let shown = settings.effective();
    let keys: Vec<_> = shown.iter().filter(|key| key.key.starts_with("kafka.topics.")).collect();
    assert_eq!(keys.len(), Topic::ALL.len());
    for topic in Topic::ALL {
        let name = topic.name();
        let key = format!("kafka.topics.{}", name.trim_start_matches("howk."));
        assert!(keys.iter().any(|found| found.key == key && found.value == name), "{key}");
        let other = format!("eu.{name}");
        let settings = read("", &[(&variable(&key), &other)]).expect("valid");
        assert_eq!(settings.kafka.topics.of(topic), other);
    }
}
