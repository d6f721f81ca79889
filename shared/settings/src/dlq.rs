//! Settings of dead letters.

use crate::kinds::{Kind, Rule, flag, list, text};

section! {
    /// What a dead letter shows.
    "dlq." Dlq {
        /// The original's headers whose values are hidden; without effect here, where the value of no header is shown.
        redact_headers: Vec<String> = list(text(HEADER)).or(Vec::new());
        /// The original's switch to hide no header; without effect here.
        disable_redaction: bool = flag().or(false);
        /// Whether the receiver's last answer is kept, up to a bounded size.
        include_response_body: bool = flag().or(true);
    }
}

const HEADER: Rule = Rule {
    allowed: "the name of a header",
    holds: |text| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
    },
};
