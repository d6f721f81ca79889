//! From a command line and settings to a stack: services, binaries, variables.

pub mod binaries;
pub mod services;
pub mod settings;
pub mod stop;
pub mod up;
