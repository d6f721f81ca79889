//! Settings of the requests to endpoints.

use std::time::Duration;

use crate::kinds::{Kind, Named, Rule, flag, hours, mins, ms, one_of, secs, span, text, whole};
use crate::reader::Reader;

section! {
    /// The requests to endpoints.
    "delivery." Delivery {
        /// How long a whole request may take in the slow lane.
        timeout: Duration = span(ms(100)..=mins(10)).or(secs(30));
        /// How long a request may take in the fast lane, before its webhook goes on in the slow lane; at most
        /// `delivery.timeout`.
        fast_timeout: Duration = span(ms(100)..=mins(10)).or(secs(5));
        /// How many requests run at once in one process.
        concurrency: u32 = whole(1..=10_000).or(64);
        /// Whether endpoints may be loopback, private or link-local addresses; for tests and development.
        allow_private_addresses: bool = flag().or(false);
        /// How many idle connections are kept to one host.
        max_idle_conns: u32 = whole(0..=100_000).or(100);
        /// The original's bound on connections to one host; without effect here, where
        /// `concurrency.max_inflight_per_endpoint` bounds the requests.
        max_conns_per_host: u32 = whole(1..=10_000).or(10);
        /// How long an idle connection is kept.
        idle_conn_timeout: Duration = span(secs(1)..=hours(1)).or(secs(90));
        /// How long name lookup, TCP connection and TLS handshake may take together.
        tls_handshake_timeout: Duration = span(ms(100)..=mins(5)).or(secs(10));
        /// The User-Agent header of requests.
        user_agent: String = text(USER_AGENT).or("howk/1.0".to_owned());
        /// Which header families requests carry and are signed with: the original's `X-Webhook-*`, Standard Webhooks'
        /// `webhook-*`, or both.
        signatures: Signatures = one_of().or(Signatures::Both);
        /// Whether requests are logged in full, without credentials; for development.
        dump_requests: bool = flag().or(false);
    }
}

impl Delivery {
    pub(crate) fn check(&self, reader: &mut Reader) {
        if self.fast_timeout > self.timeout {
            let keys = ["delivery.fast_timeout", "delivery.timeout"];
            reader.conflict(&keys, "must not be longer than delivery.timeout");
        }
    }
}

/// The header families that identify and sign a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signatures {
    /// Both families.
    Both,
    /// The original's `X-Webhook-*` alone.
    Original,
    /// Standard Webhooks' `webhook-*` alone.
    Standard,
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
