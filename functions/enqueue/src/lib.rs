//! The enqueue function: the whole HTTP interface, behind an HTTP API or a function URL.

mod handler;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clock_system::SystemRandom;
use delivery::ports::vault::Vault;
use http_api::{Api, Health};
use lambda_kit::{Function, FunctionContext, StartError};
use wiring::{Role, WithoutRedis};

pub use handler::HttpHandler;

/// The function. Its deployment has to decide `api.auth`: `keys`, or `none` to let every caller in.
pub const FUNCTION: Function = Function {
    name: "enqueue",
    decided: &[&["api.auth"], &["kafka.brokers", "kafka.cluster_arn"], &["redis.addr"], &["secrets.key"]],
    validate: |settings, clock| {
        [wiring::api::mistakes(settings), wiring::connect_mistakes(settings, clock), wiring::mistakes(settings)]
            .concat()
    },
};

/// Connects, and builds the router.
///
/// # Errors
/// What is wrong with the deployment.
pub async fn wire(context: &FunctionContext) -> Result<HttpHandler, StartError> {
    let (settings, random) = (&*context.settings, Arc::new(SystemRandom));
    let vault: Arc<dyn Vault> = Arc::new(wiring::vault::of(&settings.secrets, Arc::<SystemRandom>::clone(&random))?);
    let sender = wiring::sender::build(settings, Arc::clone(&vault))?;
    let role = Role::Function(WithoutRedis::Something);
    let connected = wiring::connect(settings, &context.clock, role).await?;
    let built = connected.use_cases(Arc::clone(&context.clock), random);
    let router = http_api::router(Api {
        enqueue: built.enqueue(&sender, vault),
        statuses: Arc::clone(&built.stores.statuses),
        stats: Arc::clone(&built.stores.stats),
        dead_letters: built.dead_letters(),
        endpoints: built.endpoints(settings, &sender)?,
        health: Health {
            recovery: Arc::clone(&built.stores.recovery),
            log: Arc::clone(&built.log),
            ready: Arc::new(AtomicBool::new(true)),
        },
        clock: Arc::clone(&context.clock),
        limits: wiring::api::limits(settings),
        auth: wiring::api::auth(settings)?,
        metrics: Arc::new(|| "# The metrics of the functions are in CloudWatch, namespace howk.\n".to_owned()),
    });
    Ok(HttpHandler { router, stats_buffer: built.stats_buffer, clock: Arc::clone(&context.clock) })
}
