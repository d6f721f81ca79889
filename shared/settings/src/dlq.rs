//! Settings of dead letters.

use crate::kinds::{Kind, Rule, flag, list, text};

section! {
    /// What a dead letter shows.
    "dlq." Dlq {
        /// Names of the headers whose values are hidden; none means Authorization, Proxy-Authorization,
        /// Cookie, Set-Cookie, X-API-Key and X-Auth-Token.
        redact_headers: Vec<String> = list(text(HEADER)).or(Vec::new());
        /// Whether no header is hidden.
        disable_redaction: bool = flag().or(false);
        /// Whether the receiver's last answer is kept, up to a bounded size.
        include_response_body: bool = flag().or(true);
    }
}

impl Dlq {
    /// The headers to hide, in lower case: the ones that were named, else six well-known ones, none when it
    /// is disabled.
    pub fn hidden_headers(&self) -> Vec<String> {
        const WELL_KNOWN: [&str; 6] =
            ["authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-auth-token"];
        if self.disable_redaction {
            Vec::new()
        } else if self.redact_headers.is_empty() {
            WELL_KNOWN.map(str::to_owned).to_vec()
        } else {
            self.redact_headers.iter().map(|name| name.to_ascii_lowercase()).collect()
        }
    }
}

const HEADER: Rule = Rule {
    allowed: "the name of a header",
    holds: |text| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
    },
};
