//! From settings to the adapters' configurations, the domain's policies and the use-cases.
//!
//! The translation stands here once, because the server and every function read the same settings and must mean the same
//! by them, while neither `settings` nor an adapter may know the other. The server and the functions call it when they
//! start. Each adapter has its module behind a feature of its own, so that a process builds and links only the adapters
//! that it uses; policies and health URLs need no feature.
//!
//! It decides nothing, it only translates and connects. Deliberately absent: reading of files and variables, and defaults.

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
pub use connect::{ConnectError, Connected, Role, WithoutRedis, connect, connect_mistakes};
pub use error::WiringError;
pub use policy::{health_urls, mistakes, policy};
pub use use_cases::{Stores, UseCases};
