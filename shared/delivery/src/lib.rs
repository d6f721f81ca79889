//! The common delivery crate: ports (traits) and use-cases.
//!
//! The functions and the servers call the use-cases; adapters implement the ports. A use-case reads facts from the ports,
//! has `domain` decide, and has the resulting effects performed by `effects`, the only interpreter. Deliberately absent:
//! decisions, Kafka, Redis, HTTP, Lambda, serialisation, reading a clock, spawning tasks.
#![warn(missing_docs)]

pub mod batch;
pub mod dead_letters;
pub mod deliver;
mod effects;
pub mod endpoints;
pub mod enqueue;
pub mod fault;
mod groups;
pub mod keyed_queue;
pub mod observe;
pub mod pause;
pub mod ports;
pub mod rebuild;
pub mod release;
pub mod scheduler;
pub mod stats_buffer;

pub use fault::{Fault, FaultKind};
