//! Decode, the router, encode: `lambda_http` does the first and the last.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{Response, StatusCode};
use delivery::tally::StatsTally;
use lambda_http::{Body, Request, RequestExt, Service, service_fn};
use lambda_kit::Kit;
use tower::ServiceExt;

/// How long the statistics may hold up the answer.
const STATS_PATIENCE: Duration = Duration::from_millis(500);
/// The largest answer that the platform takes, in bytes.
const ANSWER_BYTES_MAX: usize = 6 * 1024 * 1024;

/// Answers requests.
#[derive(Debug, Clone)]
pub struct Front {
    /// The HTTP interface.
    pub router: Router,
    /// What was counted.
    pub tally: Arc<StatsTally>,
}

impl Front {
    /// The service that the runtime calls, once an invocation.
    pub fn service(
        self,
        kit: Kit,
    ) -> impl Service<
        Request,
        Response = Response<Body>,
        Error = Infallible,
        Future = impl Future<Output = Result<Response<Body>, Infallible>> + Send + 'static,
    > + Clone
    + Send
    + 'static {
        service_fn(move |request: Request| {
            let (front, kit) = (self.clone(), kit.clone());
            async move {
                let request_id = request.lambda_context_ref().map(|context| context.request_id.clone());
                let answer = front.answer(request).await;
                front.tally.flush_within(&*kit.clock, STATS_PATIENCE).await;
                kit.flush_metrics(&request_id.unwrap_or_default());
                Ok(answer)
            }
        })
    }

    /// Answers one request.
    pub async fn answer(&self, request: Request) -> Response<Body> {
        let Ok(answer) = self.router.clone().oneshot(request).await;
        let (parts, body) = answer.into_parts();
        let Ok(bytes) = axum::body::to_bytes(body, ANSWER_BYTES_MAX).await else {
            let mut too_large = Response::new(Body::Empty);
            *too_large.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            return too_large;
        };
        Response::from_parts(parts, Body::from(bytes.to_vec()))
    }
}
