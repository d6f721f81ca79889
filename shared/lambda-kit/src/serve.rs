//! The loop of a function whose events are JSON.

use std::sync::Arc;

use lambda_runtime::{LambdaEvent, service_fn};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::failure::Failure;
use crate::invoked::Invoked;
use crate::launch::FunctionContext;
use crate::shutdown::until_shutdown;
use crate::start::StartError;

/// Handles the events of a function. Clones share everything, so that any number of invocations may run at once where the
/// platform allows it (`AWS_LAMBDA_MAX_CONCURRENCY`).
pub trait Handler: Clone + Send + Sync + 'static {
    /// What an invocation is answered with.
    type Answer: Serialize + Send + 'static;

    /// Handles one event, by `invoked.until` at the latest.
    ///
    /// # Errors
    /// A [`Failure`] when the event must come again as a whole.
    fn handle(&self, event: &str, invoked: Invoked) -> impl Future<Output = Result<Self::Answer, Failure>> + Send;
}

/// Serves events until the environment ends.
///
/// # Errors
/// When the Runtime API cannot be reached.
pub async fn serve<H: Handler>(context: FunctionContext, handler: H) -> Result<(), StartError> {
    let context = Arc::new(context);
    let service = service_fn(move |event: LambdaEvent<Box<RawValue>>| {
        let (context, handler) = (Arc::clone(&context), handler.clone());
        async move {
            let invoked = Invoked::of(&event.context, context.clock.now(), &context.settings.lambda);
            let answer = handler.handle(event.payload.get(), invoked).await;
            context.flush_metrics(&event.context.request_id);
            answer
        }
    });
    until_shutdown(lambda_runtime::run_concurrent(service)).await
}
