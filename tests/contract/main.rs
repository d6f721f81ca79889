//! The contract suites on every adapter: whatever passes them may stand in for the others.
#![expect(clippy::expect_used, reason = "a suite without its instance fails")]

mod in_memory;
mod log_kafka;
mod sender_http;
mod store_redis;
