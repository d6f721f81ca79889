//! Endpoints: the unhealthy ones, and the decisions of their owners.

use std::sync::Arc;

use axum::extract::{FromRequestParts, RawQuery, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use domain::{Endpoint, EndpointHash, EndpointSetting};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::documented;
use crate::answer::json;
use crate::api::Api;
use crate::auth::Caller;
use crate::bodies::endpoint::{Decided, EndpointItem, EndpointPage, setting_name};
use crate::extract::{InPath, Param, Whole};
use crate::problem::Problem;
use crate::query::Query;
use crate::requests::decision::{self, Decider};
use crate::validation::ValidationError;

pub(super) fn routes() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(show)).routes(routes!(decide))
}

/// The decision that a path names.
struct Decision(EndpointSetting);

/// The endpoint of a path, and the decision about it.
struct Order {
    hash: EndpointHash,
    state: EndpointSetting,
}

impl FromRequestParts<Arc<Api>> for Order {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Problem> {
        let Param(Decision(state)) = Param::from_request_parts(parts, api).await?;
        let Param(hash) = Param::from_request_parts(parts, api).await?;
        Ok(Self { hash, state })
    }
}

impl InPath for Decision {
    const NAME: &'static str = "decision";

    fn read(text: &str) -> Result<Self, Problem> {
        match text {
            "pause" => Ok(Self(EndpointSetting::Paused)),
            "disable" => Ok(Self(EndpointSetting::Disabled)),
            "resume" | "enable" => Ok(Self(EndpointSetting::Active)),
            _ => Err(Problem::not_found("the decisions about an endpoint are pause, resume, disable and enable")),
        }
    }
}

/// The endpoints that are not in their normal state, by hash; or, with `url`, that one endpoint whatever its state,
/// so that its hash can be found. Needs a key that covers every config id.
#[utoipa::path(
    get, path = "/endpoints", operation_id = "list_endpoints", tag = "endpoints",
    params(
        ("url" = Option<String>, Query, description = "Only this URL, exactly as webhooks name it"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 200,
            description = "The length of a page, 50 by default"),
        ("after" = Option<String>, Query, description = "The next_after of the page before")
    ),
    responses((status = 200, body = EndpointPage, description = "A page of them."), documented::Reads)
)]
async fn list(State(api): State<Arc<Api>>, caller: Caller, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    caller.may_operate()?;
    let query = Query::read(query.as_deref(), &["url", "limit", "after"])?;
    let page = match query.get("url") {
        Some(url) => by_url(&api, url).await?,
        None => unhealthy(&api, &query).await?,
    };
    Ok(json(StatusCode::OK, &page))
}

async fn by_url(api: &Api, url: &str) -> Result<EndpointPage, Problem> {
    let endpoint = Endpoint::parse(url).map_err(|error| Problem::invalid_field("url", error.to_string()))?;
    let endpoint = known(api, endpoint.hash().clone(), Some(endpoint.url().to_owned())).await?;
    Ok(EndpointPage { endpoints: vec![endpoint], next_after: None })
}

async fn unhealthy(api: &Api, query: &Query) -> Result<EndpointPage, Problem> {
    let after = query.get("after").map(EndpointHash::parse).transpose();
    let after = after.map_err(|error| ValidationError { field: "after".to_owned(), message: error.to_string() });
    let (after, limit) = match (after, query.limit()) {
        (Ok(after), Ok(limit)) => (after, limit),
        (after, limit) => return Err(Problem::invalid(after.err().into_iter().chain(limit.err()).collect())),
    };
    // From the port, not from the service: a page is full by the hashes that were read, also when some of these endpoints
    // are no longer unhealthy.
    let hashes = api.endpoints.endpoints.unhealthy(after.as_ref(), limit).await?;
    let views = futures::future::try_join_all(hashes.iter().map(|hash| api.endpoints.view(hash))).await?;
    let now = api.clock.now();
    let endpoints = views.into_iter().flatten().map(|view| EndpointItem::new(view, now)).collect();
    let next_after = hashes.last().filter(|_| hashes.len() == limit).map(EndpointHash::to_string);
    Ok(EndpointPage { endpoints, next_after })
}

/// The state of one endpoint. Needs a key that covers every config id.
#[utoipa::path(
    get, path = "/endpoints/{hash}", tag = "endpoints",
    params(("hash" = String, Path, description = "The endpoint's hash")),
    responses((status = 200, body = EndpointItem, description = "Its state."), documented::Reads)
)]
async fn show(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Param(hash): Param<EndpointHash>,
) -> Result<Response, Problem> {
    caller.may_operate()?;
    let endpoint = known(&api, hash, None).await?;
    Ok(json(StatusCode::OK, &endpoint))
}

async fn known(api: &Api, hash: EndpointHash, url: Option<String>) -> Result<EndpointItem, Problem> {
    let now = api.clock.now();
    Ok(match api.endpoints.view(&hash).await? {
        Some(view) => EndpointItem::new(view, now),
        None => EndpointItem::normal(hash, url, now),
    })
}

/// Records what one config id decides about an endpoint. While it is paused or disabled, webhooks are held, never
/// lost; on resume or enable they are released. Deciding the same again is harmless.
#[utoipa::path(
    post, path = "/endpoints/{hash}/{decision}", tag = "endpoints",
    params(
        ("hash" = String, Path, description = "The endpoint's hash"),
        ("decision" = String, Path, description = "pause, resume, disable or enable")
    ),
    request_body = Decider<'static>,
    responses(
        (status = 200, body = Decided, description = "It is in force from now on."),
        documented::Writes,
        (status = 404, body = Problem, content_type = "application/problem+json", description = "No such decision.")
    )
)]
async fn decide(
    State(api): State<Arc<Api>>,
    caller: Caller,
    order: Order,
    Whole(body): Whole,
) -> Result<Response, Problem> {
    let config_id = decision::read(&body)?;
    caller.may_use(&config_id)?;
    let released = api.endpoints.decide(&order.hash, &config_id, order.state).await?;
    let answer = Decided {
        hash: order.hash.to_string(),
        config_id: config_id.to_string(),
        state: setting_name(order.state),
        released,
    };
    Ok(json(StatusCode::OK, &answer))
}
