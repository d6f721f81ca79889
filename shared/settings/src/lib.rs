//! Reads a YAML file and `HOWK_*` variables into typed, validated settings.
//!
//! Called once by every binary, before anything is connected. A variable wins over the file, the file over the default;
//! the variable of `retry.base_delay` is `HOWK_RETRY_BASE_DELAY`. An empty variable counts as not set. Every error is
//! collected, so one start shows all of them.
//!
//! Deliberately absent: policies (the wiring maps settings to `domain`), adapters, logging, and any reading of the
//! environment after the start. Each key is declared once, in the file of its section, with its help text, default and
//! bounds; the reader, the masked print and the reference table all come from that declaration. Bounds and defaults that
//! `domain` has a rule for are the constants that `domain` exports.

#[macro_use]
mod declare;

mod api;
mod circuit_breaker;
mod concurrency;
mod delivery;
mod dlq;
mod document;
mod effective;
mod endpoints;
mod ignored;
mod kafka;
mod key;
mod kinds;
mod lambda;
mod load;
mod log;
mod memory;
mod metrics;
mod reader;
mod reconciler;
mod redis;
mod retry;
mod scheduler;
mod secrets;
mod settings;
mod sources;
mod ttl;
mod unknown;
mod validation_error;
mod yaml;

#[cfg(test)]
mod tests;

pub use api::{Api, ApiAuth, ApiKey};
pub use circuit_breaker::CircuitBreaker;
pub use concurrency::Concurrency;
pub use delivery::Delivery;
pub use dlq::Dlq;
pub use effective::{EffectiveKey, Origin};
pub use endpoints::EndpointSettings;
pub use kafka::{Compression, Kafka, KafkaAuth, KafkaConsumer, KafkaGroup, KafkaProducer, Topics};
pub use lambda::Lambda;
pub use load::{Loaded, load, read_function};
pub use log::{Log, LogFormat, LogLevel};
pub use memory::Memory;
pub use metrics::Metrics;
pub use reconciler::Reconciler;
pub use redis::{Redis, RedisAuth, RedisIam, RedisSentinel, RedisTimeouts};
pub use retry::Retry;
pub use scheduler::Scheduler;
pub use secrets::Secrets;
pub use settings::{Settings, reference};
pub use sources::{Environment, ProcessEnvironment, Sources};
pub use ttl::Ttl;
pub use validation_error::{SettingsErrors, ValidationError};
