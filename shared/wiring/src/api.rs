//! The HTTP interface: who may call, and the bounds of a request.

use http_api::{ApiKey, ApiLimits, Auth};
use settings::{ApiAuth, Settings};

use crate::error::WiringError;

/// Who may call.
///
/// # Errors
/// The key that cannot be used.
pub fn auth(settings: &Settings) -> Result<Auth, WiringError> {
    match settings.api.auth {
        ApiAuth::None => Ok(Auth::None),
        ApiAuth::Keys => {
            let keys = settings.api.keys.iter().map(|(id, key)| {
                let usable = ApiKey::new(&key.hash, key.config_ids.clone());
                Ok((
                    id.clone(),
                    usable.map_err(|error| WiringError::key(format!("api.keys.{id}"), error.to_string()))?,
                ))
            });
            keys.collect::<Result<_, _>>().map(Auth::Keys)
        }
    }
}

/// The bounds of a request.
pub fn limits(settings: &Settings) -> ApiLimits {
    ApiLimits {
        body_bytes_max: usize::try_from(settings.api.max_request_size).unwrap_or(usize::MAX),
        default_max_attempts: settings.retry.max_attempts,
    }
}
