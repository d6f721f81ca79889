//! The sender's suite on the real HTTP client.

use std::sync::Arc;

use clock_system::SystemRandom;
use sender_http::{AddressPolicy, HttpSender, PrivateAddresses, SenderConfig};
use testkit::contract::SenderUnderTest;
use vault_xchacha::XChaChaVault;

/// A sender that may call loopback.
async fn sender() -> SenderUnderTest {
    let address_policy = AddressPolicy { private: PrivateAddresses::Allowed, denied: Vec::new() };
    let vault = Arc::new(XChaChaVault::ephemeral(Arc::new(SystemRandom)).expect("a vault"));
    let config = SenderConfig { address_policy, ..SenderConfig::default() };
    let sender = HttpSender::new(config, Arc::<XChaChaVault>::clone(&vault)).expect("a sender");
    SenderUnderTest { sender: Arc::new(sender), vault }
}

testkit::contract_tests!(sender, sender);
