//! The common delivery crate: ports (traits) and use-cases.
//!
//! The functions and the local servers call the use-cases; adapters implement the ports. Decisions are `domain`'s; this
//! crate asks them and performs what they want. Deliberately absent: Kafka, Redis, HTTP, Lambda, serialisation, reading
//! a clock, spawning.
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
pub mod ports;
pub mod rebuild;
pub mod release;
pub mod scheduler;
pub mod stats_buffer;

pub use fault::{Fault, FaultKind};
