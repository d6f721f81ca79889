//! Every byte that leaves a process.
//!
//! Adapters and functions call it to turn domain nouns into Kafka records, Redis values, HTTP bodies and what Lambda
//! hands over, and back.
//! Deliberately absent: policy, I/O, clocks, compression. Reading never panics, whatever the bytes. A payload is
//! carried byte for byte (DL-4); secrets come and go sealed (SE-1).
#![warn(missing_docs)]

mod code;
pub mod hot;
pub mod http;
mod json;
pub mod lambda;
pub mod record;
mod time;
mod unreadable;

pub use unreadable::Unreadable;

#[cfg(test)]
mod tests;
