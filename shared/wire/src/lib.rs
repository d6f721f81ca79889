//! Every byte of a Kafka record, a hot-state value and a Lambda event.
//!
//! Adapters and functions call it to turn domain nouns into Kafka records, Redis values and Lambda's answers, and back.
//! Deliberately absent: policy, I/O, clocks, and the bodies of the HTTP API, which `http-api` has. Reading never panics,
//! whatever the bytes. A payload is carried byte for byte (DL-4); secrets are carried sealed (SE-1).
#![warn(missing_docs)]

mod code;
pub mod hot;
mod json;
pub mod lambda;
pub mod record;
mod time;
mod unreadable;

pub use unreadable::Unreadable;

#[cfg(test)]
mod tests;
