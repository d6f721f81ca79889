//! The vault of secrets.

use std::sync::Arc;

use delivery::ports::time::Random;
use settings::Settings;
use vault_xchacha::XChaChaVault;

use crate::error::WiringError;

/// The vault of the configured keys; `None` when none is configured.
///
/// # Errors
/// The key that cannot be used.
pub fn vault(settings: &Settings, random: Arc<dyn Random>) -> Result<Option<XChaChaVault>, WiringError> {
    let secrets = &settings.secrets;
    let vault = secrets.key.as_ref().map(|key| XChaChaVault::new(key, &secrets.previous_keys, random));
    vault.transpose().map_err(|error| WiringError::key("secrets.key", error.to_string()))
}
