//! The policy that the decisions apply, and the health URLs of endpoints.

use std::num::NonZeroU32;

use domain::{
    CircuitPolicy, Endpoint, HealthUrls, InflightLimits, LanePolicy, Policy, PolicyError, ReleasePolicy,
    ResponseBody, RetryPolicy,
};
use settings::{Settings, ValidationError};

use crate::error::{self, WiringError};

/// Builds the policy.
///
/// # Errors
/// The rule of `domain` that a setting breaks, with its key.
pub fn policy(settings: &Settings) -> Result<Policy, WiringError> {
    let concurrency = &settings.concurrency;
    let overrides = concurrency.domain_overrides.iter();
    Ok(Policy {
        retry: of_retries(settings)?,
        release: of_releases(settings)?,
        circuit: of_circuits(settings)?,
        lanes: of_lanes(settings)?,
        inflight: InflightLimits {
            endpoint: concurrency.max_inflight_per_endpoint,
            // Of both, 0 is no limit.
            domain: NonZeroU32::new(concurrency.max_inflight_per_domain),
            domain_overrides: overrides.map(|(domain, limit)| (domain.clone(), NonZeroU32::new(*limit))).collect(),
        },
        on_store_failure: settings.circuit_breaker.on_store_failure,
        response_body: if settings.dlq.include_response_body { ResponseBody::Kept } else { ResponseBody::Dropped },
    })
}

/// Every mistake that shows when the policy is built, or the health URLs are read.
pub fn mistakes(settings: &Settings) -> Vec<ValidationError> {
    let policies = [
        of_retries(settings).map(drop),
        of_releases(settings).map(drop),
        of_circuits(settings).map(drop),
        of_lanes(settings).map(drop),
    ];
    let policies = policies.into_iter().map(|built| built.map_err(WiringError::from));
    error::mistakes(policies.chain(urls(settings).map(|read| read.map(drop))))
}

fn of_retries(settings: &Settings) -> Result<RetryPolicy, PolicyError> {
    let retry = &settings.retry;
    RetryPolicy::new(retry.base_delay, retry.max_delay, retry.jitter)
}

fn of_releases(settings: &Settings) -> Result<ReleasePolicy, PolicyError> {
    ReleasePolicy::new(settings.retry.release_window, settings.retry.cohorts)
}

fn of_circuits(settings: &Settings) -> Result<CircuitPolicy, PolicyError> {
    let circuit = &settings.circuit_breaker;
    CircuitPolicy::new(
        circuit.failure_threshold,
        circuit.failure_window,
        circuit.recovery_timeout,
        circuit.success_threshold,
    )
}

fn of_lanes(settings: &Settings) -> Result<LanePolicy, PolicyError> {
    let delivery = &settings.delivery;
    LanePolicy::new(delivery.fast_timeout, delivery.timeout, f64::from(settings.concurrency.slow_lane_rate))
}

/// Reads the health URLs of endpoints.
///
/// # Errors
/// The pattern whose text is not a URL.
pub fn health_urls(settings: &Settings) -> Result<HealthUrls, WiringError> {
    Ok(HealthUrls::new(urls(settings).collect::<Result<Vec<_>, WiringError>>()?))
}

fn urls(settings: &Settings) -> impl Iterator<Item = Result<(String, Endpoint), WiringError>> {
    settings.endpoints.iter().map(|(pattern, endpoint)| {
        let url = Endpoint::parse(&endpoint.health_url)
            .map_err(|error| WiringError::key(format!("endpoints.{pattern}.health_url"), error.to_string()))?;
        Ok((pattern.clone(), url))
    })
}
