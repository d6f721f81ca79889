//! The binary `howk`: `serve` and `demo`.
//!
//! It reads the command line and the settings, says at the start what a person needs to know, and leaves the rest to the
//! library `server`.

pub mod cli;
pub mod configure;
pub mod demo;
pub mod screen;
