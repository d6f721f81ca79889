//! Ports.
pub mod sender;
