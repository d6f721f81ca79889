//! `howk-dev`: howk in one process, with nothing to install.
//!
//! The same use-cases as the functions', over the in-memory log and store. The log ends with the process, so graceful
//! shutdown works off what is pending first, where the log ends with the process, and says what still waits.

pub mod api;
pub mod background;
pub mod cli;
pub mod configure;
pub mod consumer;
pub mod demo;
pub mod dry;
pub mod dump;
pub mod server;
#[cfg(feature = "services")]
pub mod services;
pub mod system;
pub mod telemetry;
