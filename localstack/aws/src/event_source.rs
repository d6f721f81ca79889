//! An MSK event source: polls a topic and invokes a function with what it reads, as Lambda's pollers do.
//!
//! Each poller has partitions of its own and one batch under way, so a partition is never in two invocations. What happens
//! to a batch's records after an invocation is decided in `decide`. Offsets are committed for records that have been handled
//! or given up, never before: after a stop in between, the same records are read again.
//!
//! Deliberately absent: membership in the consumer group (partitions are assigned here, so only one such source may run
//! for a group), scaling of pollers, filters, schema registries.

mod batch;
mod client;
mod config;
mod consumer;
mod control;
mod decide;
mod event;
mod on_failure;
mod poller;
mod reading;
mod response;
mod room;
mod source;
#[cfg(test)]
mod tests;

pub use config::SourceConfig;
pub use control::{SourceControl, SourceState};
pub use source::EventSource;
