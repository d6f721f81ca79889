//! The sender of requests.

use std::sync::Arc;

use delivery::ports::sender::Sender;
use delivery::ports::vault::Vault;
use sender_http::{AddressPolicy, HttpSender, PrivateAddresses, SenderConfig};
use settings::Settings;

use crate::error::WiringError;

/// Builds a sender that opens the secrets of its requests with this vault.
///
/// # Errors
/// The key that cannot be used.
pub fn build(settings: &Settings, vault: Arc<dyn Vault>) -> Result<Arc<dyn Sender>, WiringError> {
    match HttpSender::new(config(settings), vault) {
        Ok(sender) => Ok(Arc::new(sender)),
        Err(error) => Err(WiringError::key("delivery.user_agent", error.to_string())),
    }
}

/// The configuration of a sender.
pub fn config(settings: &Settings) -> SenderConfig {
    let delivery = &settings.delivery;
    let private =
        if delivery.allow_private_addresses { PrivateAddresses::Allowed } else { PrivateAddresses::Refused };
    SenderConfig {
        user_agent: delivery.user_agent.clone(),
        connect_timeout: delivery.tls_handshake_timeout,
        pool_idle_timeout: delivery.idle_conn_timeout,
        max_idle_per_host: usize::try_from(delivery.max_idle_conns).unwrap_or(usize::MAX),
        address_policy: AddressPolicy { private, ..AddressPolicy::default() },
        signatures: delivery.signatures,
    }
}
