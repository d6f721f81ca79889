//! Settings of the sealing of secrets.

use domain::Secret;

use crate::kinds::{Kind, optional, secret};

section! {
    /// The sealing of signing secrets and credentials before they reach Kafka or Redis.
    "secrets." Secrets {
        /// The key that secrets are sealed with.
        key: Option<Secret> = optional(secret(32)).or(None);
    }
}
