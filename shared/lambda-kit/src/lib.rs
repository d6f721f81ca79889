//! What every function's main needs: an orderly start, telemetry, deadlines, faults as error types, shutdown; and the
//! handler of both lanes, which differ only in the lane they work on.
//!
//! A main calls [`launch`], wires its adapters and serves. Deliberately absent: adapters, rules, detached futures. Only
//! connections outlive an invocation.

mod deadline;
mod emf;
mod failure;
mod init_error;
mod invoked;
mod lane;
mod launch;
mod logging;
#[cfg(feature = "secrets")]
mod secret_store;
#[cfg(feature = "secrets")]
mod secrets;
mod serve;
mod shutdown;
mod start;

pub use deadline::deadline;
pub use emf::{Emf, EmfRecorder};
pub use failure::Failure;
pub use invoked::Invoked;
pub use lane::{LaneHandler, PartialResponses};
pub use launch::{Function, FunctionContext, Validation, launch};
#[cfg(feature = "secrets")]
pub use secrets::WithSecrets;
pub use serve::{Handler, serve};
pub use shutdown::until_shutdown;
pub use start::StartError;
