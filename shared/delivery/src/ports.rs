//! The ports: what the use-cases need of the outside world, each with its contract.
//!
//! Adapters implement them and decide nothing about webhooks. The contract suites are in `testkit`; every adapter of a
//! port passes the same suite.

pub mod dead_letters;
pub mod endpoints;
pub mod hot_state;
pub mod log;
pub mod recovery;
pub mod schedule;
pub mod sender;
pub mod stats;
pub mod statuses;
pub mod time;
pub mod vault;
