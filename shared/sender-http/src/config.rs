//! What a sender is built from, and why building one can fail.

use std::time::Duration;

use domain::Signatures;
use thiserror::Error;

use crate::address::AddressPolicy;

/// What a sender is built from. The total deadline is not here: every request brings its own.
///
/// The original's `delivery.max_conns_per_host` has no counterpart, since the HTTP client does not bound the
/// connections in use; the domain and endpoint in-flight limits do. `delivery.tls_handshake_timeout` is part of
/// `connect_timeout`, which covers name lookup, TCP and TLS together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SenderConfig {
    /// The `User-Agent` of every request.
    pub user_agent: String,
    /// How long name lookup, TCP and TLS may take together.
    pub connect_timeout: Duration,
    /// How long an unused connection is kept.
    pub pool_idle_timeout: Duration,
    /// How many unused connections are kept to one host.
    pub max_idle_per_host: usize,
    /// Where requests may go.
    pub address_policy: AddressPolicy,
    /// Which header families are sent.
    pub signatures: Signatures,
}

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            user_agent: "howk/1.0".to_owned(),
            connect_timeout: Duration::from_secs(10),
            pool_idle_timeout: Duration::from_secs(90),
            max_idle_per_host: 100,
            address_policy: AddressPolicy::default(),
            signatures: Signatures::default(),
        }
    }
}

/// Why a sender cannot be built: the deployment is wrong.
#[derive(Debug, Error)]
pub enum SenderError {
    /// The user agent is not sendable.
    #[error("the user agent is not a valid header value")]
    UserAgent,
    /// The HTTP client refused its settings; most often, the system has no CA certificates.
    #[error("could not set up the HTTP client")]
    Client(#[source] reqwest::Error),
}
