//! howk as one long-running process: the same use-cases as the functions', served over HTTP and run by tasks.
//!
//! The binary `howk` starts it; tests and measurements start parts of it. It works on a log and a hot state in memory, which
//! end with the process, or (feature `services`) on Kafka and Redis, which several servers share. Deliberately absent: the
//! command line, the reading of settings, and every word that a person reads at the start.

pub mod api;
pub mod background;
pub mod consumer;
mod dry;
mod dump;
mod server;
pub mod services;
pub mod system;
pub mod telemetry;

pub use server::{Bound, Server, stop_signal};
