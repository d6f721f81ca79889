//! Hourly statistics.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use delivery::ports::stats::Hour;
use delivery::stats_buffer::hour_of;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::documented;
use crate::answer::json;
use crate::api::Api;
use crate::auth::Caller;
use crate::bodies::stats::{StatsAnswer, StatsPeriod};
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(stats))
}

/// The counts of the last hour and the last day. Needs a key that covers every config id.
#[utoipa::path(
    get, path = "/stats", tag = "operation",
    responses((status = 200, body = StatsAnswer, description = "The counts."), documented::Reads)
)]
async fn stats(State(api): State<Arc<Api>>, caller: Caller) -> Result<Response, Problem> {
    caller.may_operate()?;
    let Hour(now) = hour_of(api.clock.now());
    let hours = |back: u64| (now.saturating_sub(back)..=now).map(Hour).collect::<Vec<_>>();
    let (hour, day) = (hours(1), hours(24));
    let (hour, day) = futures::future::try_join(api.stats.sum(&hour), api.stats.sum(&day)).await?;
    let answer = StatsAnswer { last_1h: StatsPeriod::new("1h", hour), last_24h: StatsPeriod::new("24h", day) };
    Ok(json(StatusCode::OK, &answer))
}
