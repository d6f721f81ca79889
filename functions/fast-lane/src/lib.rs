//! The fast lane: delivers what was accepted or released, and leaves what is slow to the other lane.
//!
//! Its handler is the one of both lanes, [`LaneHandler`].

use std::sync::Arc;

use clock_system::SystemRandom;
use domain::Lane;
use lambda_kit::{Function, FunctionContext, LaneHandler, StartError};
use wiring::WithoutRedis;

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
    let built = wiring::connect(settings, Arc::clone(&context.clock), random, WithoutRedis::Something).await?;
    Ok(LaneHandler::new(Lane::Fast, settings, built.batch(settings, &sender)?))
}
