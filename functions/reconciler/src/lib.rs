//! The reconciler: runs every minute and rebuilds the hot state from the log when it was lost. On demand it rebuilds in any
//! case.

mod handler;

use std::sync::Arc;

use clock_system::SystemRandom;
use lambda_kit::{Function, FunctionContext, StartError};
use wiring::{Role, WithoutRedis};

pub use handler::RebuildHandler;

/// The function.
pub const FUNCTION: Function = Function {
    name: "reconciler",
    decided: &[&["kafka.brokers", "kafka.cluster_arn"], &["redis.addr"]],
    validate: wiring::connect_mistakes,
};

/// Connects, and builds the handler.
///
/// # Errors
/// What is wrong with the deployment.
pub async fn wire(context: &FunctionContext) -> Result<RebuildHandler, StartError> {
    let role = Role::Function(WithoutRedis::Nothing);
    let connected = wiring::connect(&context.settings, &context.clock, role).await?;
    let built = connected.use_cases(Arc::clone(&context.clock), Arc::new(SystemRandom));
    let (rebuild, schedule) = (built.rebuild(&context.settings), built.stores.schedule);
    Ok(RebuildHandler { rebuild, schedule, random: built.random })
}
