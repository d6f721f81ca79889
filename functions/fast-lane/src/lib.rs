//! The fast lane: delivers the webhooks that were accepted or released, and diverts those of slow endpoints to the slow lane.
//!
//! Both lanes have the same handler, [`LaneHandler`].

use std::sync::Arc;

use clock_system::SystemRandom;
use domain::Lane;
use lambda_kit::{Function, FunctionContext, LaneHandler, StartError};
use wiring::{Role, WithoutRedis};

/// The function.
pub const FUNCTION: Function = Function {
    name: "fast-lane",
    decided: &[&["kafka.brokers", "kafka.cluster_arn"], &["redis.addr"], &["secrets.key"]],
    validate: |settings, clock| [wiring::connect_mistakes(settings, clock), wiring::mistakes(settings)].concat(),
};

/// Connects, and builds the handler.
///
/// # Errors
/// What is wrong with the deployment.
pub async fn wire(context: &FunctionContext) -> Result<LaneHandler, StartError> {
    let (settings, random) = (&*context.settings, Arc::new(SystemRandom));
    let vault = wiring::vault::of(&settings.secrets, Arc::<SystemRandom>::clone(&random))?;
    let sender = wiring::sender::build(settings, Arc::new(vault))?;
    let role = Role::Function(WithoutRedis::Something);
    let connected = wiring::connect(settings, &context.clock, role).await?;
    let built = connected.use_cases(Arc::clone(&context.clock), random);
    Ok(LaneHandler::new(Lane::Fast, settings, built.batch(settings, &sender)?))
}
