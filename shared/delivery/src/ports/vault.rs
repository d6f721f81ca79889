//! Port `vault`: seals the secrets of a webhook when it is accepted, and unseals them for its requests (SE-1).

use domain::{ConfigId, Sealed, Secret};
use thiserror::Error;

use crate::fault::Fault;

/// Why a sealed secret cannot be read. No text here holds any of it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unsealable {
    /// It was sealed with a key that this deployment does not have.
    #[error("its secrets are sealed with key {key_id}, which is not among the secrets keys of this deployment")]
    UnknownKey {
        /// Names the key; says nothing about it.
        key_id: String,
    },
    /// It is not a seal, or another tenant's, or was changed.
    #[error("its sealed secrets are damaged")]
    Broken,
}

/// Seals and unseals.
///
/// Contract: a seal can be read back by every deployment that has its key, for the tenant that it was made for and for no
/// other; sealing the same secret twice gives two different texts; nothing about the secret but its length can be learnt
/// from its seal.
pub trait Vault: Send + Sync {
    /// Seals a secret of a tenant.
    ///
    /// # Errors
    /// A permanent [`Fault`] when it cannot be sealed; it must then not be kept.
    fn seal(&self, tenant: &ConfigId, secret: &Secret) -> Result<Sealed, Fault>;

    /// Reads a sealed secret of a tenant.
    ///
    /// # Errors
    /// [`Unsealable`].
    fn unseal(&self, tenant: &ConfigId, sealed: &Sealed) -> Result<Secret, Unsealable>;
}
