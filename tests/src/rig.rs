//! A rig for fault runs on the real thing: Kafka and Redis of its own, howk's processes, receivers over HTTP, and the
//! books that are balanced at the end.
//!
//! What is put to the test stands behind [`installation::Installation`]; everything else is the same for every tier.

pub mod books;
pub mod fault;
pub mod installation;
pub mod ledger;
pub mod load;
pub mod pair;
pub mod poison;
pub mod proxy;
pub mod receiver;
pub mod run;
pub mod servers;
pub mod traces;
