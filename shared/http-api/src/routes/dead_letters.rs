//! Dead letters: list them, replay one, replay those that match a filter.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use delivery::dead_letters::{Listed, Replayed};
use delivery::ports::dead_letters::{DeadLetterCursor, DeadLetterFilter};
use domain::WebhookId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::documented;
use crate::answer::json;
use crate::api::Api;
use crate::auth::Caller;
use crate::bodies::dead_letter::{DeadLetterItem, DeadLetterPage, ReplayedMany, ReplayedOne};
use crate::extract::{Param, Whole};
use crate::problem::Problem;
use crate::query::Query;
use crate::requests::dead_letters::{self, ReplayFilter};
use crate::validation::ValidationError;

const PARAMETERS: [&str; 7] = ["config_id", "endpoint", "reason_type", "since", "until", "limit", "cursor"];

pub(super) fn routes() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(replay_matching)).routes(routes!(replay))
}

/// Dead letters, oldest first. A key that does not cover every config id must name one that it covers.
#[utoipa::path(
    get, path = "/deadletters", operation_id = "list_dead_letters", tag = "dead letters",
    params(
        ("config_id" = Option<String>, Query, description = "Of this config id"),
        ("endpoint" = Option<String>, Query, description = "Of this endpoint: its hash or its URL"),
        ("reason_type" = Option<String>, Query,
            description = "exhausted, unrecoverable, gone or address_refused"),
        ("since" = Option<String>, Query, description = "Given up at or after this RFC 3339 time"),
        ("until" = Option<String>, Query, description = "Given up before this RFC 3339 time"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 200,
            description = "The length of a page, 50 by default"),
        ("cursor" = Option<String>, Query, description = "The next_cursor of the page before")
    ),
    responses((status = 200, body = DeadLetterPage, description = "A page of them, the oldest first."), documented::Reads)
)]
async fn list(State(api): State<Arc<Api>>, caller: Caller, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let (filter, limit, after) = page(&Query::read(query.as_deref(), &PARAMETERS)?)?;
    caller.may_filter(filter.config_id.as_ref())?;
    let listed = api.dead_letters.list(&filter, after.as_ref(), limit).await?;
    let last = listed.last().filter(|_| listed.len() == limit);
    let next_cursor = last.map(|Listed { entry, .. }| {
        dead_letters::write_cursor(&DeadLetterCursor { at: entry.at, id: entry.id.clone() })
    });
    let deadletters = listed.into_iter().map(DeadLetterItem::from).collect();
    Ok(json(StatusCode::OK, &DeadLetterPage { deadletters, next_cursor }))
}

/// Replays one dead letter: a new life of the webhook, from its first attempt.
#[utoipa::path(
    post, path = "/deadletters/{webhook_id}/replay", tag = "dead letters",
    params(("webhook_id" = String, Path, description = "The webhook's id")),
    responses(
        (status = 202, body = ReplayedOne, description = "It is accepted again, as a new life of the webhook."),
        documented::Reads,
        (status = 404, body = Problem, content_type = "application/problem+json",
            description = "There is no such dead letter (any more)."),
        (status = 409, body = Problem, content_type = "application/problem+json",
            description = "Another caller replays it at this moment.")
    )
)]
async fn replay(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Param(id): Param<WebhookId>,
) -> Result<Response, Problem> {
    let unknown = || Problem::not_found(format!("there is no dead letter of webhook {id}"));
    if !caller.is_operator() {
        let entry = api.dead_letters.index.find(&id).await?;
        entry.filter(|entry| caller.covers(&entry.config_id)).ok_or_else(unknown)?;
    }
    match api.dead_letters.replay(&id).await? {
        Replayed::Yes(dispatch) => {
            Ok(json(StatusCode::ACCEPTED, &ReplayedOne { webhook_id: id.to_string(), dispatch }))
        }
        Replayed::NotFound => Err(unknown()),
        Replayed::InProgress => Err(Problem::in_progress("another caller replays this dead letter at this moment")),
    }
}

/// Replays every dead letter that matches a filter, each once. Calling again after an error replays the rest.
#[utoipa::path(
    post, path = "/deadletters/replay", tag = "dead letters",
    request_body = ReplayFilter<'static>,
    responses((status = 202, body = ReplayedMany, description = "They are accepted again, each as a new life of its webhook."), documented::Writes)
)]
async fn replay_matching(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Whole(body): Whole,
) -> Result<Response, Problem> {
    let filter = dead_letters::read_replay(&body)?;
    caller.may_filter(filter.config_id.as_ref())?;
    let ids = api.dead_letters.replay_matching(&filter).await?;
    Ok(json(StatusCode::ACCEPTED, &ReplayedMany::new(&ids)))
}

type Page = (DeadLetterFilter, usize, Option<DeadLetterCursor>);

/// The filter, the limit and the cursor of a listing, or every error in them.
fn page(query: &Query) -> Result<Page, Problem> {
    let mut errors = Vec::new();
    let filter = dead_letters::read_query(|name| query.get(name)).map_err(|found| errors.extend(found)).ok();
    let limit = query.limit().map_err(|error| errors.push(error)).ok();
    let cursor = query.get("cursor").map(|text| {
        let message = "is not a cursor that a listing answered with".to_owned();
        dead_letters::read_cursor(text).ok_or(ValidationError { field: "cursor".to_owned(), message })
    });
    let cursor = cursor.transpose().map_err(|error| errors.push(error)).ok().flatten();
    match (filter, limit) {
        (Some(filter), Some(limit)) if errors.is_empty() => Ok((filter, limit, cursor)),
        _ => Err(Problem::invalid(errors)),
    }
}
