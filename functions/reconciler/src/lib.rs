//! The reconciler: started every minute, it rebuilds the hot state from the log when it was lost; on demand in any case.

mod handler;

use std::sync::Arc;

use clock_system::SystemRandom;
use lambda_kit::{Function, FunctionContext, StartError};
use wiring::WithoutRedis;

pub use handler::{Answer, Progress, RebuildHandler};

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
    let (clock, random) = (Arc::clone(&context.clock), Arc::new(SystemRandom));
    let built = wiring::connect(&context.settings, clock, random, WithoutRedis::Nothing).await?;
    let (rebuild, schedule) = (built.rebuild(&context.settings), built.stores.schedule);
    Ok(RebuildHandler { rebuild, schedule, random: built.random })
}
