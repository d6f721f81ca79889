//! What the tests share: a small world on a clock that is moved by hand.
//!
//! The world runs the real use-cases, the real consumers, scheduler and reconciler of the one-process server over the
//! in-memory ports. Only the endpoints, the clock and the randomness are the test's.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

pub mod endpoint;
pub mod events;
pub mod fuse;
pub mod outage;
pub mod rig;
pub mod witness;
pub mod world;
