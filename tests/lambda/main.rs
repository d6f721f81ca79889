//! The stack of `howk-local`: life cycle, Invoke API, event source, schedule, front; and howk's functions on it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot set up its world, or misses what it looks for, fails"
)]

mod emulator;
mod event_source;
mod faults;
mod front;
mod functions;
mod invoke_api;
mod life_cycle;
mod lines;
mod local;
mod own_redis;
mod rig;
mod schedule;
mod secret_store;
mod secrets;
mod starting;
mod system;
mod without_redis;
