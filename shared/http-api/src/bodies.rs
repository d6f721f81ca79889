//! The bodies of answers, with their schemas. Names are the original's where it had them.

pub(crate) mod attempt;
pub(crate) mod dead_letter;
pub(crate) mod endpoint;
pub(crate) mod health;
pub(crate) mod stats;
pub(crate) mod webhook;
