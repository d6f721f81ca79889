//! Settings of dead letters.

use crate::kinds::{Kind, flag};

section! {
    /// What a dead letter shows.
    "dlq." Dlq {
        /// Whether a dead letter keeps the beginning of the receiver's last answer.
        include_response_body: bool = flag().or(true);
    }
}
