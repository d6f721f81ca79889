//! Port `sender` on reqwest: makes the one HTTP request of an attempt and reports what the endpoint did.
//!
//! Called by `delivery`'s attempt use-case through [`delivery::ports::sender::Sender`], and by the scheduler's probe.
//!
//! Deliberately absent: retries, rate limits, decisions about what an answer means and which headers and secrets can be
//! sent (`domain` makes them), a clock (the time of the attempt is an argument), redirects, decompression, proxies (a proxy
//! would resolve names itself, so that the address check were lost), and a DNS cache of our own.
//!
//! Invariants: DL-4, the accepted bytes are signed and sent without being read or copied; SE-1, no text that leaves
//! this crate holds a secret, a header's value, a query string or user info; RT-1's input: a `Retry-After` in any of its
//! spellings is never read as shorter than the endpoint asked for.
//!
//! On the wire: HTTP/1.1 or, over TLS, HTTP/2 by ALPN; TLS 1.2 (ECDHE with AEAD ciphers) and 1.3. The HTTP client keeps
//! header names in lower case and cannot keep the caller's spelling, so over HTTP/1 every name is written in title case (`X-Webhook-Id`), which is how the Go original wrote each name; HTTP/2 has only lower case.

mod address;
mod answer;
mod config;
mod failure;
mod headers;
mod resolver;
mod retry_after;
mod sender;
mod signature;
#[cfg(test)]
mod test_receiver;
mod unsealed;

pub use address::{AddressPolicy, PrivateAddresses};
pub use config::{SenderConfig, SenderError};
pub use resolver::{NAME_LOOKUP_TIMEOUT, NameLookup, SystemLookup};
pub use sender::HttpSender;
