//! The vault of secrets.

use std::sync::Arc;

use delivery::ports::time::Random;
use delivery::ports::vault::Vault;
use settings::Settings;
use vault_xchacha::XChaChaVault;

use crate::error::WiringError;

/// The vault of the configured keys. Without any it has a key of its own, and nothing that it seals outlives the process:
/// whoever writes to a log or a store that does must insist on `secrets.key`.
///
/// # Errors
/// The key that cannot be used.
pub fn vault(settings: &Settings, random: Arc<dyn Random>) -> Result<Arc<dyn Vault>, WiringError> {
    let secrets = &settings.secrets;
    let vault = match &secrets.key {
        Some(key) => XChaChaVault::new(key, &secrets.previous_keys, random),
        None => XChaChaVault::ephemeral(random),
    };
    match vault {
        Ok(vault) => Ok(Arc::new(vault)),
        Err(error) => Err(WiringError::key("secrets.key", error.to_string())),
    }
}
