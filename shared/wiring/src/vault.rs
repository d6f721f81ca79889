//! The vault of secrets.

use std::sync::Arc;

use delivery::ports::time::Random;
use domain::Secret;
use settings::{Secrets, ValidationError};
use vault_xchacha::XChaChaVault;

use crate::error::{self, WiringError};

/// The key that seals secrets before they reach Kafka or Redis.
///
/// # Errors
/// When it is not set: a random key would seal secrets that no other process, and not even this one after a restart, could
/// open.
pub fn key(secrets: &Secrets) -> Result<&Secret, WiringError> {
    let missing = || {
        let problem = "is not set (HOWK_SECRETS_KEY): signing secrets and headers are sealed with it before they reach \
                       Kafka and Redis. Give every server and function the same key of 32 characters or more, such as \
                       `openssl rand -base64 32` prints";
        WiringError::key("secrets.key", problem)
    };
    secrets.key.as_ref().ok_or_else(missing)
}

/// Every mistake that shows when [`key`] is called.
pub fn mistakes(secrets: &Secrets) -> Vec<ValidationError> {
    error::mistakes([key(secrets)])
}

/// The vault of the configured keys.
///
/// # Errors
/// As [`key`], or when a key cannot be used.
pub fn of(secrets: &Secrets, random: Arc<dyn Random>) -> Result<XChaChaVault, WiringError> {
    let vault = XChaChaVault::new(key(secrets)?, &secrets.previous_keys, random);
    vault.map_err(|fault| WiringError::key("secrets.key", fault.to_string()))
}

/// A vault with a random key, which ends with the process. For a process whose sealed secrets end with it too, and for one
/// that seals nothing and so does not need to hold the deployment's key.
///
/// # Errors
/// When no key can be derived.
pub fn ephemeral(random: Arc<dyn Random>) -> Result<XChaChaVault, WiringError> {
    XChaChaVault::ephemeral(random).map_err(|fault| WiringError::key("secrets.key", fault.to_string()))
}
