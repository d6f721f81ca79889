//! The scheduler: started every minute, it releases what is due until shortly before its end, and looks after endpoints and
//! gauges.

mod handler;

use std::sync::Arc;

use clock_system::SystemRandom;
use lambda_kit::{Function, FunctionContext, StartError};
use wiring::WithoutRedis;

pub use handler::{Answer, ScheduleHandler};

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
    // It asks health URLs, and sends nothing that is sealed.
    let vault = wiring::vault::keyless(Arc::<SystemRandom>::clone(&random))?;
    let sender = wiring::sender::build(settings, Arc::new(vault))?;
    let built = wiring::connect(settings, Arc::clone(&context.clock), random, WithoutRedis::Nothing).await?;
    Ok(ScheduleHandler { scheduler: built.scheduler(settings, &sender)? })
}
