//! From settings to the adapters' configurations, the domain's policies and the use-cases.
//!
//! It exists so that this translation stands once: the server and every function read the same settings and must mean
//! the same by them, while neither `settings` nor an adapter may know the other. Called by the roots, at their start.
//! One module per adapter, each behind a feature, so that a root builds and links only the adapters that it uses;
//! policies and health URLs need none.
//!
//! It decides nothing, it only translates: what a root wants otherwise, such as receivers on its own machine, it changes
//! in what it gets from here. Deliberately absent: reading of files and variables, and defaults.

#[cfg(feature = "api")]
pub mod api;
#[cfg(all(feature = "kafka", feature = "redis"))]
mod connect;
mod error;
#[cfg(feature = "kafka")]
pub mod kafka;
mod policy;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "sender")]
pub mod sender;
mod use_cases;
#[cfg(feature = "vault")]
pub mod vault;

#[cfg(all(feature = "kafka", feature = "redis"))]
pub use connect::{ConnectError, WithoutRedis, connect, connect_mistakes};
pub use error::WiringError;
pub use policy::{health_urls, mistakes, policy};
pub use use_cases::{Stores, UseCases};
