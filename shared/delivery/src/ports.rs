//! The ports: what the use-cases need of the world, each with its contract.
//!
//! Adapters implement them and say nothing of their own about webhooks. The contract suites are in `testkit`; every
//! adapter passes the same ones.

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
