//! Contract suites, generators, a clock to move by hand and a receiver to send to: what the tests of every tier share.
//!
//! Only tests name it. Every adapter of a port passes the same suite ([`contract_tests!`]); nothing here knows which
//! adapter it runs on. The reference model of the simulation is in `tests/simulation`.
#![expect(clippy::expect_used, reason = "only tests call it: what they cannot set up fails them")]

pub mod clock;
pub mod contract;
pub mod generate;
pub mod random;
pub mod receiver;
