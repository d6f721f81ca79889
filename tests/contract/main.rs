//! The contract suites on every adapter: whatever passes them may stand in for the others.
#![expect(clippy::expect_used, reason = "a suite without its instance fails")]

mod in_memory;
mod sender_http;
