//! Enqueue, one webhook or a batch; the status and the attempts of a webhook.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use delivery::enqueue::NewWebhook;
use delivery::ports::sender::AddressRefused;
use domain::{ConfigId, Status, TraceParent, WebhookId};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::documented;
use crate::answer::json;
use crate::api::Api;
use crate::auth::Caller;
use crate::bodies::attempt::Attempts;
use crate::bodies::webhook::{Accepted, BatchAnswer, BatchItem, BatchRefused, WebhookStatus};
use crate::extract::{Param, Submitted};
use crate::problem::{Problem, problem_response};
use crate::requests::enqueue::{self, BatchBody, Context, Submission, WebhookBody};

pub(super) fn routes() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new()
        .routes(routes!(enqueue_one))
        .routes(routes!(enqueue_batch))
        .routes(routes!(status))
        .routes(routes!(attempts))
}

/// Accepts a webhook. The answer comes after the log has it; from then on it is delivered, or dead-lettered with a
/// reason.
#[utoipa::path(
    post, path = "/webhooks/{config_id}/enqueue", tag = "webhooks",
    params(("config_id" = String, Path, description = "The tenant: 1 to 128 of A-Z a-z 0-9 . _ - :")),
    request_body = WebhookBody<'static>,
    responses((status = 202, body = Accepted, description = "It is accepted and will be delivered."), documented::Writes)
)]
async fn enqueue_one(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Param(config_id): Param<ConfigId>,
    Submitted { body, trace }: Submitted,
) -> Result<Response, Problem> {
    caller.may_use(&config_id)?;
    let context = context(&api, config_id, trace);
    let new = vetted(&api, enqueue::read(&body, &context)?, "")?;
    match api.enqueue.enqueue(vec![new]).await?.as_slice() {
        [id] => Ok(json(StatusCode::ACCEPTED, &Accepted::new(id))),
        ids => Err(miscounted(1, ids.len())),
    }
}

/// Accepts up to 100 webhooks, each on its own. 202: all accepted; 207: some; 422: none. What is accepted is in the
/// log before the answer comes.
#[utoipa::path(
    post, path = "/webhooks/{config_id}/enqueue/batch", tag = "webhooks",
    params(("config_id" = String, Path, description = "The tenant: 1 to 128 of A-Z a-z 0-9 . _ - :")),
    request_body = BatchBody<'static>,
    responses(
        documented::Writes,
        (status = 202, body = BatchAnswer, description = "All were accepted."),
        (status = 207, body = BatchAnswer, description = "Some were accepted."),
        (status = 422, body = BatchRefused, content_type = "application/problem+json",
            description = "None was accepted, or the batch itself breaks a rule.")
    )
)]
async fn enqueue_batch(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Param(config_id): Param<ConfigId>,
    Submitted { body, trace }: Submitted,
) -> Result<Response, Problem> {
    caller.may_use(&config_id)?;
    let context = context(&api, config_id, trace);
    let (mut wanted, mut refused) = (Vec::new(), Vec::new());
    for (index, item) in enqueue::read_batch(&body, &context)?.into_iter().enumerate() {
        let pointer = format!("/webhooks/{index}");
        let new = item.map_err(Problem::invalid).and_then(|item| vetted(&api, item, &pointer));
        match new {
            Ok(new) => wanted.push((index, new)),
            Err(problem) => refused.push(BatchItem::refused(index, problem)),
        }
    }
    let accepted = accept_all(&api, wanted).await?;
    Ok(batch_answer(accepted, refused))
}

async fn accept_all(api: &Api, wanted: Vec<(usize, NewWebhook)>) -> Result<Vec<BatchItem>, Problem> {
    let (indexes, new): (Vec<_>, Vec<_>) = wanted.into_iter().unzip();
    let ids = if new.is_empty() { Vec::new() } else { api.enqueue.enqueue(new).await? };
    if ids.len() != indexes.len() {
        return Err(miscounted(indexes.len(), ids.len()));
    }
    Ok(indexes.into_iter().zip(&ids).map(|(index, id)| BatchItem::accepted(index, id)).collect())
}

fn batch_answer(accepted: Vec<BatchItem>, refused: Vec<BatchItem>) -> Response {
    let (accepted_count, failed) = (accepted.len(), refused.len());
    let mut webhooks = accepted;
    webhooks.extend(refused);
    webhooks.sort_by_key(BatchItem::index);
    let answer = BatchAnswer { webhooks, accepted: accepted_count, failed };
    match (accepted_count, failed) {
        (_, 0) => json(StatusCode::ACCEPTED, &answer),
        (0, _) => {
            let problem = Problem::none_accepted();
            problem_response(problem.status(), &BatchRefused { problem, answer })
        }
        _ => json(StatusCode::MULTI_STATUS, &answer),
    }
}

const fn context(api: &Api, config_id: ConfigId, trace: Option<TraceParent>) -> Context {
    Context { config_id, default_max_attempts: api.limits.default_max_attempts, trace }
}

/// The webhook, once the rules that need ports are met too. `pointer` leads to the item.
fn vetted(api: &Api, item: Submission, pointer: &str) -> Result<NewWebhook, Problem> {
    let Submission { webhook, require_script } = item;
    if require_script {
        return Err(Problem::script_required(format!("{pointer}/require_script"), &webhook.config_id));
    }
    let refused = |refused: AddressRefused| Problem::address_refused(format!("{pointer}/endpoint"), refused.reason);
    api.enqueue.vet(&webhook.endpoint).map_err(refused)?;
    Ok(webhook)
}

/// The use-case promises an id for each webhook.
fn miscounted(wanted: usize, got: usize) -> Problem {
    let context = format!("{wanted} webhooks were accepted under {got} ids");
    Problem::from(delivery::Fault::new(delivery::FaultKind::Permanent, context))
}

/// The status of a webhook.
#[utoipa::path(
    get, path = "/webhooks/{webhook_id}/status", tag = "webhooks",
    params(("webhook_id" = String, Path, description = "The id that enqueue answered with")),
    responses(
        (status = 200, body = WebhookStatus, description = "Where it stands."),
        documented::Reads,
        (status = 404, body = Problem, content_type = "application/problem+json", description = "It is not known.")
    )
)]
async fn status(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Param(id): Param<WebhookId>,
) -> Result<Response, Problem> {
    let status = visible(&api, &caller, &id).await?;
    Ok(json(StatusCode::OK, &WebhookStatus::from(status)))
}

/// The last requests made for a webhook.
#[utoipa::path(
    get, path = "/webhooks/{webhook_id}/attempts", tag = "webhooks",
    params(("webhook_id" = String, Path, description = "The id that enqueue answered with")),
    responses(
        (status = 200, body = Attempts, description = "Its attempts, the newest last."),
        documented::Reads,
        (status = 404, body = Problem, content_type = "application/problem+json", description = "It is not known.")
    )
)]
async fn attempts(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Param(id): Param<WebhookId>,
) -> Result<Response, Problem> {
    if !caller.is_operator() {
        visible(&api, &caller, &id).await?;
    }
    let attempts = api.statuses.attempts(&id).await?.ok_or_else(|| unknown(&id))?;
    Ok(json(StatusCode::OK, &Attempts::new(&id, attempts)))
}

/// The status of a webhook that the caller may see; another tenant's reads as unknown (TN-1).
async fn visible(api: &Api, caller: &Caller, id: &WebhookId) -> Result<Status, Problem> {
    let mut statuses = api.statuses.statuses(std::slice::from_ref(id)).await?;
    let status = statuses.pop().flatten().filter(|status| caller.covers(&status.config_id));
    status.ok_or_else(|| unknown(id))
}

fn unknown(id: &WebhookId) -> Problem {
    Problem::not_found(format!("there is no webhook {id}"))
}
