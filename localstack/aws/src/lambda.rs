//! Lambda: prebuilt functions as processes, behind a Runtime API of our own, and the Invoke API in front of them.
//!
//! An environment is one process with a Runtime API of its own on a port of its own, as in AWS. It is started when none is
//! free, reused, stopped between invocations (SIGSTOP) and continued (SIGCONT), and killed at its deadline. Deadlines are
//! real. Deliberately absent: memory and CPU limits, layers, versions and aliases, external extensions.

mod answer;
mod environment;
mod function;
mod invocation;
mod invoke_api;
mod later;
mod order;
mod output;
mod pool;
mod runtime_api;
mod service;
mod signal;
mod start;
mod state;

pub use answer::{Answer, InvokeError};
pub use function::Program;
pub use invocation::Invocation;
pub use invoke_api::{ASYNC_BYTES_MAX, SYNC_BYTES_MAX, router};
pub use output::{Line, Output};
pub use pool::ConcurrencyLimits;
pub use service::{Lambda, LambdaConfig};
pub use state::{EnvironmentState, FunctionState, Phase};

/// The account in the ARNs of everything here.
const ACCOUNT: &str = "000000000000";

/// The region in the ARNs of everything here.
pub const REGION: &str = "eu-west-1";

/// The ARN of a function.
pub fn function_arn(name: &str) -> String {
    format!("arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}")
}
