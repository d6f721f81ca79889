//! `howk-dev`: howk in one process, with nothing to install.
//!
//! The same use-cases as the functions', over the in-memory log and store. The log ends with the process, so graceful
//! shutdown works off what is pending first and says what still waits.

pub mod background;
pub mod consumer;
pub mod dry;
pub mod policy;
pub mod system;
