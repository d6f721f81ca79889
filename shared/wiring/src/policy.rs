//! The numbers that the decisions go by, and the health URLs of endpoints.

use std::cmp::Reverse;

use delivery::endpoints::HealthUrls;
use domain::{
    CircuitPolicy, Endpoint, InflightLimits, LanePolicy, OnStoreFailure, Policy, ReleasePolicy, ResponseBody,
    RetryPolicy,
};
use settings::Settings;

use crate::error::WiringError;

/// Builds the policy.
///
/// # Errors
/// The rule of `domain` that a setting breaks, with its key.
pub fn policy(settings: &Settings) -> Result<Policy, WiringError> {
    let (retry, circuit) = (&settings.retry, &settings.circuit_breaker);
    let (delivery, concurrency) = (&settings.delivery, &settings.concurrency);
    Ok(Policy {
        retry: RetryPolicy::new(retry.base_delay, retry.max_delay, retry.jitter)?,
        release: ReleasePolicy::new(retry.release_window, retry.cohorts)?,
        circuit: CircuitPolicy::new(
            circuit.failure_threshold,
            circuit.failure_window,
            circuit.recovery_timeout,
            circuit.success_threshold,
        )?,
        lanes: LanePolicy::new(delivery.fast_timeout, delivery.timeout, f64::from(concurrency.slow_lane_rate))?,
        inflight: InflightLimits {
            endpoint: concurrency.max_inflight_per_endpoint,
            domain: Some(concurrency.max_inflight_per_domain).filter(|limit| *limit > 0),
            domain_overrides: concurrency.domain_overrides.clone(),
        },
        on_store_failure: match circuit.on_store_failure {
            settings::OnStoreFailure::Closed => OnStoreFailure::Closed,
            settings::OnStoreFailure::Open => OnStoreFailure::Open,
        },
        response_body: if settings.dlq.include_response_body { ResponseBody::Kept } else { ResponseBody::Dropped },
    })
}

/// Reads the health URLs of endpoints, the narrowest pattern first, since the first that fits is asked.
///
/// # Errors
/// The pattern whose URL is none.
pub fn health_urls(settings: &Settings) -> Result<HealthUrls, WiringError> {
    let urls = settings.endpoints.iter().map(|(pattern, endpoint)| {
        let url = Endpoint::parse(&endpoint.health_url)
            .map_err(|error| WiringError::key(format!("endpoints.{pattern}.health_url"), error.to_string()))?;
        Ok((pattern.clone(), url))
    });
    let mut urls = urls.collect::<Result<Vec<_>, WiringError>>()?;
    urls.sort_by_key(|(pattern, _)| (pattern.starts_with('*'), Reverse(pattern.len())));
    Ok(HealthUrls(urls))
}
