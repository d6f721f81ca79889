//! domain
mod endpoint;
mod entropy;
mod id;
mod outcome;
mod secret;
mod time;
mod webhook;

pub use endpoint::*;
pub use entropy::*;
pub use id::*;
pub use outcome::*;
pub use secret::*;
pub use time::*;
pub use webhook::*;

/// The highest `max_attempts` that is accepted.
pub const MAX_ATTEMPTS_MAX: u32 = 100;
/// The `max_attempts` of a webhook that names none.
pub const MAX_ATTEMPTS_DEFAULT: u32 = 20;
