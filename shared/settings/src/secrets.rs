//! Settings of the sealing of secrets.

use domain::Secret;

use crate::kinds::{Kind, list, optional, secret};

/// The fewest characters of a key, so that guessing it is hopeless.
const CHARS_MIN: usize = 32;

section! {
    /// The sealing of signing secrets and credentials before they reach Kafka or Redis.
    "secrets." Secrets {
        /// The key that secrets are sealed with, such as `openssl rand -base64 32` prints. Needed wherever they reach
        /// Kafka or Redis.
        key: Option<Secret> = optional(secret(CHARS_MIN)).or(None);
        /// Earlier keys, which only unseal: kept while webhooks that were sealed with them are under way.
        previous_keys: Vec<Secret> = list(secret(CHARS_MIN)).or(Vec::new());
    }
}

impl Secrets {
    /// The fewest characters of a key: settings refuse a shorter one, so none has ever sealed anything.
    pub const KEY_CHARS_MIN: usize = CHARS_MIN;
}
