//! What handlers take out of a request: the caller, a path parameter, the whole body. A part that breaks a rule is
//! answered with a problem document.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::header::CONTENT_LENGTH;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use domain::{ConfigId, EndpointHash, TraceParent, WebhookId};

use crate::api::Api;
use crate::auth::Caller;
use crate::problem::Problem;

impl FromRequestParts<Arc<Api>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Problem> {
        api.auth.caller(&parts.headers)
    }
}

/// A noun that stands in a path.
pub(crate) trait InPath: Sized {
    /// The parameter's name in the route.
    const NAME: &'static str;

    /// Reads it from decoded text.
    fn read(text: &str) -> Result<Self, Problem>;
}

impl InPath for ConfigId {
    const NAME: &'static str = "config_id";

    fn read(text: &str) -> Result<Self, Problem> {
        Self::parse(text).map_err(|error| Problem::invalid_field(Self::NAME, error.to_string()))
    }
}

impl InPath for WebhookId {
    const NAME: &'static str = "webhook_id";

    fn read(text: &str) -> Result<Self, Problem> {
        Self::parse(text).map_err(|error| Problem::invalid_field(Self::NAME, error.to_string()))
    }
}

impl InPath for EndpointHash {
    const NAME: &'static str = "hash";

    fn read(text: &str) -> Result<Self, Problem> {
        Self::parse(text).map_err(|error| Problem::invalid_field(Self::NAME, error.to_string()))
    }
}

/// One path parameter.
#[derive(Debug)]
pub(crate) struct Param<T>(pub(crate) T);

impl<T: InPath> FromRequestParts<Arc<Api>> for Param<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Problem> {
        let not_text = || Problem::invalid_field(T::NAME, "the path is not valid UTF-8");
        let params = RawPathParams::from_request_parts(parts, api).await.map_err(|_| not_text())?;
        let text = params.iter().find(|(name, _)| *name == T::NAME).map(|(_, text)| text);
        T::read(text.unwrap_or_default()).map(Self)
    }
}

/// The trace that a request belongs to: of the caller's `traceparent`, or of the `X-Amzn-Trace-Id` that AWS adds.
fn trace_of(headers: &HeaderMap) -> Option<TraceParent> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let given = text("traceparent").and_then(TraceParent::parse);
    given.or_else(|| text("x-amzn-trace-id").and_then(TraceParent::of_xray))
}

/// A whole body, with the trace of its request.
#[derive(Debug)]
pub(crate) struct Submitted {
    pub(crate) body: Bytes,
    pub(crate) trace: Option<TraceParent>,
}

impl FromRequest<Arc<Api>> for Submitted {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Arc<Api>) -> Result<Self, Problem> {
        let trace = trace_of(request.headers());
        let Whole(body) = Whole::from_request(request, api).await?;
        Ok(Self { body, trace })
    }
}

/// The whole body, within the limit. Its `Content-Type` is not looked at.
#[derive(Debug)]
pub(crate) struct Whole(pub(crate) Bytes);

impl FromRequest<Arc<Api>> for Whole {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Arc<Api>) -> Result<Self, Problem> {
        let bytes_max = api.limits.body_bytes_max;
        let announced = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if announced.is_some_and(|length: u64| usize::try_from(length).is_ok_and(|length| length > bytes_max)) {
            return Err(Problem::too_large(bytes_max));
        }
        Bytes::from_request(request, api).await.map(Self).map_err(|rejection| {
            if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
                Problem::too_large(bytes_max)
            } else {
                Problem::malformed("the body did not arrive whole")
            }
        })
    }
}
