//! Faults on real Kafka and Redis, in real processes. Each test has the pair for itself while it runs.

mod attempts;
mod groups;
mod kafka;
mod long_run;
mod poison;
mod rebuild;
mod redis;
mod scene;
mod script;
mod secrets;
