//! Decode, the router, encode: `lambda_http` does the first and the last.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{Response, StatusCode};
use delivery::ports::time::Clock;
use delivery::stats_buffer::StatsBuffer;
use futures::future::{Either, select};
use lambda_http::{Body, Request, RequestExt, Service, service_fn};
use lambda_kit::{FunctionContext, Invoked};
use tower::ServiceExt;

/// How long the statistics may hold up the answer.
const STATS_PATIENCE: Duration = Duration::from_millis(500);
/// The largest answer that the platform takes, in bytes.
const ANSWER_BYTES_MAX: usize = 6 * 1024 * 1024;

/// Answers requests.
#[derive(Clone)]
pub struct HttpHandler {
    /// The HTTP interface.
    pub router: Router,
    /// What was counted.
    pub tally: Arc<StatsBuffer>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl HttpHandler {
    /// The service that the runtime calls, once an invocation.
    pub fn service(
        self,
        context: FunctionContext,
    ) -> impl Service<
        Request,
        Response = Response<Body>,
        Error = Infallible,
        Future = impl Future<Output = Result<Response<Body>, Infallible>> + Send + 'static,
    > + Clone
    + Send
    + 'static {
        service_fn(move |request: Request| {
            let (handler, context) = (self.clone(), context.clone());
            async move {
                let invocation = request.lambda_context_ref().cloned().unwrap_or_default();
                let invoked = Invoked::of(&invocation, context.clock.now(), &context.settings.lambda);
                let answer = handler.answer(request, invoked).await;
                handler.tally.flush_within(&*context.clock, STATS_PATIENCE).await;
                context.flush_metrics(&invocation.request_id);
                Ok(answer)
            }
        })
    }

    /// Answers one request, and in time: an environment that runs into its end is killed, and its caller learns nothing.
    /// What was late may have been accepted all the same; a caller that repeats it with its idempotency key doubles nothing.
    pub async fn answer(&self, request: Request, invoked: Invoked) -> Response<Body> {
        let left = invoked.until.since(self.clock.now());
        let answer = match select(self.router.clone().oneshot(request), self.clock.sleep(left)).await {
            Either::Left((Ok(answer), _)) => answer,
            Either::Right(((), _)) => http_api::late(),
        };
        let (parts, body) = answer.into_parts();
        let Ok(bytes) = axum::body::to_bytes(body, ANSWER_BYTES_MAX).await else {
            let mut too_large = Response::new(Body::Empty);
            *too_large.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            return too_large;
        };
        Response::from_parts(parts, Body::from(bytes.to_vec()))
    }
}
