//! The scheduler: runs every minute until shortly before its deadline. It releases the webhooks that are due, asks the
//! health URLs of endpoints and writes gauges.

mod handler;

use std::sync::Arc;

use clock_system::SystemRandom;
use lambda_kit::{Function, FunctionContext, StartError};
use wiring::{Role, WithoutRedis};

pub use handler::ScheduleHandler;

/// The function.
pub const FUNCTION: Function = Function {
    name: "scheduler",
    decided: &[&["kafka.brokers", "kafka.cluster_arn"], &["redis.addr"]],
    validate: |settings, clock| [wiring::connect_mistakes(settings, clock), wiring::mistakes(settings)].concat(),
};

/// Connects, and builds the handler.
///
/// # Errors
/// What is wrong with the deployment.
pub async fn wire(context: &FunctionContext) -> Result<ScheduleHandler, StartError> {
    let (settings, random) = (&*context.settings, Arc::new(SystemRandom));
    // The scheduler only asks health URLs: it sends no request that has a sealed secret.
    let vault = wiring::vault::ephemeral(Arc::<SystemRandom>::clone(&random))?;
    let sender = wiring::sender::build(settings, Arc::new(vault))?;
    let role = Role::Function(WithoutRedis::Nothing);
    let connected = wiring::connect(settings, &context.clock, role).await?;
    let built = connected.use_cases(Arc::clone(&context.clock), random);
    Ok(ScheduleHandler { scheduler: built.scheduler(settings, &sender)? })
}
