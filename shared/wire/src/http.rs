//! The HTTP bodies: what callers send, read and checked; cursors and times, written and read back.
//!
//! `http-api` calls it. One pass over a body finds every mistake, so that one answer lists them all. Deliberately
//! absent: HTTP itself, status codes, policy that needs settings or ports (address policy, defaults). Payload bytes are
//! copied, never rewritten (DL-4), and no message shows a secret or a header's value (SE-1).

pub mod dead_letters;
pub mod decision;
pub mod enqueue;
mod headers;
mod mistakes;
mod object;
mod secrets;
pub mod time;

pub use mistakes::{RequestError, ValidationError};
