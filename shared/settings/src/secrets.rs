//! Settings of the sealing of secrets.

use domain::Secret;

use crate::kinds::{Kind, list, optional, secret};

section! {
    /// The sealing of signing secrets and credentials before they reach Kafka or Redis.
    "secrets." Secrets {
        /// The key that secrets are sealed with, such as `openssl rand -base64 32` prints. Needed wherever they reach
        /// Kafka or Redis.
        key: Option<Secret> = optional(secret(32)).or(None);
        /// Keys that sealed before, while webhooks from that time are still under way. They only unseal.
        previous_keys: Vec<Secret> = list(secret(32)).or(Vec::new());
    }
}
