//! Settings of the requests to endpoints.

use std::time::Duration;

use domain::{LanePolicy, Signatures};

use crate::kinds::{Kind, Named, Rule, flag, hours, mins, ms, one_of, secs, span, text, whole, written};
use crate::reader::Reader;

section! {
    /// The requests to endpoints.
    "delivery." Delivery {
        /// How long a whole request may take in the slow lane.
        timeout: Duration = span(LanePolicy::TIMEOUT).or(LanePolicy::default().full_timeout());
        /// How long a request may take in the fast lane, before its webhook goes on in the slow lane; at most
        /// `delivery.timeout`.
        fast_timeout: Duration = span(LanePolicy::TIMEOUT).or(LanePolicy::default().fast_timeout());
        /// How many requests are in flight in one process at most.
        concurrency: u32 = whole(1..=10_000).or(64);
        /// Whether endpoints may be loopback, private or link-local addresses; for tests and development.
        allow_private_addresses: bool = flag().or(false);
        /// How many idle connections are kept to one host.
        max_idle_conns: u32 = whole(0..=100_000).or(100);
        /// How long an idle connection is kept.
        idle_conn_timeout: Duration = span(secs(1)..=hours(1)).or(secs(90));
        /// How long name lookup, TCP connection and TLS handshake may take together.
        tls_handshake_timeout: Duration = span(ms(100)..=mins(5)).or(secs(10));
        /// The User-Agent header of requests.
        user_agent: String = text(USER_AGENT).or("howk/1.0".to_owned());
        /// Which header families requests carry and are signed with: the original's `X-Webhook-*`, Standard Webhooks'
        /// `webhook-*`, or both.
        signatures: Signatures = one_of().or(Signatures::default());
        /// Whether requests are logged in full, without credentials; for development.
        dump_requests: bool = flag().or(false);
    }
}

impl Delivery {
    pub(crate) fn check(&self, reader: &mut Reader) {
        if self.fast_timeout > self.timeout {
            let keys = ["delivery.fast_timeout", "delivery.timeout"];
            let (fast, full) = (written(self.fast_timeout), written(self.timeout));
            reader
                .conflict(&keys, format!("{fast} is longer than delivery.timeout, {full}; set it to {full} or less"));
        }
    }
}

impl Named for Signatures {
    const NAMES: &'static [(&'static str, Self)] =
        &[("both", Self::Both), ("original", Self::Original), ("standard", Self::Standard)];
}

const USER_AGENT: Rule = Rule {
    allowed: "1 to 200 visible ASCII characters",
    holds: |text| {
        (1..=200).contains(&text.len())
            && text.trim() == text
            && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
    },
};
