//! Answers one HTTP request per invocation: `lambda_http` decodes the event and encodes the answer, the router does the rest.

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

/// How long the answer waits for the statistics to be written. Losing statistics is better than a slow answer.
const STATS_TIMEOUT: Duration = Duration::from_millis(500);
/// The largest answer that Lambda takes, in bytes.
const ANSWER_BYTES_MAX: usize = 6 * 1024 * 1024;

/// Answers requests.
#[derive(Clone)]
pub struct HttpHandler {
    /// The HTTP interface.
    pub router: Router,
    /// Statistics that are not written yet.
    pub stats_buffer: Arc<StatsBuffer>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

impl HttpHandler {
    /// The service that the Lambda runtime calls once per invocation.
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
                handler.stats_buffer.flush_within(&*context.clock, STATS_TIMEOUT).await;
                context.flush_metrics(&invocation.request_id);
                Ok(answer)
            }
        })
    }

    /// Answers one request before the deadline of its invocation, because Lambda kills a process that misses its deadline
    /// and the caller then gets no problem document. A webhook whose answer is late may have been accepted; a caller that
    /// repeats the request with its idempotency key does not create a second one.
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
