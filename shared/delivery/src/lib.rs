//! The common delivery crate.
pub mod ports;
