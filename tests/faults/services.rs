//! Faults on real Kafka and Redis, in real processes. Each test has the pair for itself while it runs.

mod long_run;
mod secrets;
