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
    /// The trace that it belongs to, in the form of `X-Amzn-Trace-Id`.
    pub trace: String,
    /// The client context that the caller sent.
    pub client_context: Option<HeaderValue>,
}

impl Invocation {
    /// A new invocation with a trace of its own.
    pub fn new(payload: Bytes, clock: &dyn Clock, random: &dyn Random) -> Self {
        let trace = fresh_trace(clock, random);
        Self { id: fresh_id(random), payload, trace, client_context: None }
    }

    /// Joins a caller's trace. Fields that the caller left out are taken from the invocation's own trace.
    pub(super) fn join(&mut self, trace: &str) {
        let mut joined = trace.trim().trim_end_matches(';').to_owned();
        for own in self.trace.split(';') {
            let name = own.split('=').next().unwrap_or_default();
            let is_named = |field: &str| field.trim().split('=').next().is_some_and(|known| known == name);
            if !joined.split(';').any(is_named) {
                joined = format!("{joined};{own}");
            }
        }
        self.trace = joined;
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
    fn a_caller_s_trace_is_joined_and_missing_fields_are_added() {
        let of = |trace: &str| {
            let own = "Root=1-00000001-a;Parent=b;Sampled=0".to_owned();
            let (id, payload) = (String::new(), Bytes::new());
            let mut invocation = Invocation { id, payload, trace: own, client_context: None };
            invocation.join(trace);
            invocation.trace
        };
        assert_eq!(of("Root=1-00000002-c"), "Root=1-00000002-c;Parent=b;Sampled=0");
        assert_eq!(of("Root=1-00000002-c;Parent=d;Sampled=1"), "Root=1-00000002-c;Parent=d;Sampled=1");
        assert_eq!(of("Self=1-x; Root=1-00000002-c; Sampled=?"), "Self=1-x; Root=1-00000002-c; Sampled=?;Parent=b");
    }

    #[test]
    fn an_id_is_a_random_uuid() {
        assert_eq!(fresh_id(&Ones), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
