//! One invocation.

use axum::http::HeaderValue;
use bytes::Bytes;
use delivery::ports::time::{Clock, Random};

/// What a function is invoked with.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// Its request id.
    pub id: String,
    /// The event.
    pub payload: Bytes,
    /// The trace that it belongs to, as `X-Amzn-Trace-Id` says it.
    pub trace: String,
    /// What the caller's client says of itself.
    pub client_context: Option<HeaderValue>,
}

impl Invocation {
    /// A new invocation; part of a trace of its own.
    pub fn new(payload: Bytes, clock: &dyn Clock, random: &dyn Random) -> Self {
        let trace = fresh_trace(clock, random);
        Self { id: fresh_id(random), payload, trace, client_context: None }
    }
}

/// A fresh request id, shaped like a random UUID.
pub(super) fn fresh_id(random: &dyn Random) -> String {
    let bits = random.bits();
    let versioned = (bits & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{versioned:032x}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| hex.get(range).unwrap_or_default());
    parts.join("-")
}

fn fresh_trace(clock: &dyn Clock, random: &dyn Random) -> String {
    let (bits, seconds) = (random.bits(), clock.now().as_secs());
    format!("Root=1-{seconds:08x}-{:024x};Parent={:016x};Sampled=0", bits >> 32, random.bits() >> 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ones;

    impl Random for Ones {
        fn bits(&self) -> u128 {
            u128::MAX
        }
    }

    #[test]
    fn an_id_is_a_random_uuid() {
        assert_eq!(fresh_id(&Ones), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
