//! The sender's suite on the real HTTP client.

use sender_http::{AddressPolicy, HttpSender, PrivateAddresses, SenderConfig};

/// A sender that may call loopback.
async fn sender() -> HttpSender {
    let address_policy = AddressPolicy { private: PrivateAddresses::Allowed, denied: Vec::new() };
    HttpSender::new(SenderConfig { address_policy, ..SenderConfig::default() }).expect("a sender")
}

testkit::contract_tests!(sender, sender);
