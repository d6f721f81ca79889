//! `howk-local`: all of AWS that matters to howk, on one machine.
//!
//! The binaries that are deployed run here behind a Lambda Runtime API, fed by an MSK event source, an EventBridge
//! schedule and an HTTP front, on real Kafka and Redis. Everything that triggers a function speaks the public Invoke API
//! only. [`stack::Stack`] is all of it in one process, for the command and for tests; the parts stand alone too.
//!
//! Deliberately absent: identity, networks, quotas, memory limits and anything else that only AWS has.

pub mod cli;
pub mod control;
pub mod event_source;
pub mod front;
pub mod invoker;
pub mod lambda;
pub mod local;
pub mod schedule;
pub mod spec;
pub mod stack;

pub mod view;
