//! Text that must never be shown, and its sealed form, which may be written anywhere (SE-1).
//!
//! A webhook holds its secrets sealed from the moment it is accepted; only the sender unseals them. Sealing itself is a
//! port: this module only keeps the two apart, so that no record can hold a secret in clear.

use std::fmt;

/// A signing secret or another credential: usable, never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself. The vault and the signer are the only callers.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// A secret under a key that only the vault has. It is written to records as it is.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(String);

impl Sealed {
    /// Takes what a vault made, or what a record held.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The sealed text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[SEALED]")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[REDACTED]")
    }
}
