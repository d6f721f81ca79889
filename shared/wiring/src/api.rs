//! The HTTP interface: its callers and the bounds of a request.

use http_api::{ApiKey, ApiLimits, Auth};
use settings::{ApiAuth, Settings, ValidationError};

use crate::error::{self, WiringError};

/// The callers that are let in: all of them, or the holders of a key.
///
/// # Errors
/// The key that cannot be used.
pub fn auth(settings: &Settings) -> Result<Auth, WiringError> {
    match settings.api.auth {
        ApiAuth::None => Ok(Auth::None),
        ApiAuth::Keys => keys(settings).collect::<Result<_, _>>().map(Auth::Keys),
    }
}

/// Every mistake that shows when the API is built.
pub fn mistakes(settings: &Settings) -> Vec<ValidationError> {
    if settings.api.auth == ApiAuth::Keys { error::mistakes(keys(settings)) } else { Vec::new() }
}

fn keys(settings: &Settings) -> impl Iterator<Item = Result<(String, ApiKey), WiringError>> {
    settings.api.keys.iter().map(|(id, key)| {
        let usable = ApiKey::new(&key.hash, key.config_ids.clone());
        let usable = usable.map_err(|error| WiringError::key(format!("api.keys.{id}"), error.to_string()))?;
        Ok((id.clone(), usable))
    })
}

/// The bounds of a request.
pub fn limits(settings: &Settings) -> ApiLimits {
    ApiLimits {
        body_bytes_max: usize::try_from(settings.api.max_request_size).unwrap_or(usize::MAX),
        default_max_attempts: settings.retry.max_attempts,
    }
}
