//! The bodies of answers, and the schemas of requests. Names are the original's where it had them.
//!
//! Requests are read by `wire`, which keeps payload bytes as they are; their structures here are only documentation,
//! and a test holds their fields equal to what `wire` reads.

pub(crate) mod attempt;
pub(crate) mod dead_letter;
pub(crate) mod endpoint;
pub(crate) mod health;
pub(crate) mod request;
pub(crate) mod stats;
pub(crate) mod webhook;
