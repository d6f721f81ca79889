//! The control API on loopback: shows what runs, and causes the failures that AWS can cause: freezes, kills, throttles,
//! pauses and duplicates.
//!
//! It stands beside the Invoke API. localstack/README.md lists its routes.

mod state;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post, put};
use axum::{Json, Router};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

pub use self::state::StackState;
use crate::event_source::SourceControl;
use crate::lambda::{FunctionState, Lambda};
use crate::schedule::ScheduleControl;

/// The parts of a stack that can be looked at and changed.
pub struct Controls {
    /// The functions.
    pub lambda: Lambda,
    /// The event sources, which invoke them with records of Kafka.
    pub sources: Vec<SourceControl>,
    /// The schedules, which invoke them by the clock.
    pub schedules: Vec<ScheduleControl>,
    /// Cancelled to end the stack.
    pub stop: CancellationToken,
}

impl Controls {
    /// The state of every part.
    pub fn state(&self) -> StackState {
        StackState {
            functions: self.lambda.state(),
            event_sources: self.sources.iter().map(SourceControl::state).collect(),
            schedules: self.schedules.iter().map(ScheduleControl::state).collect(),
        }
    }

    /// What keeps records from reaching the functions, as a list for people; empty when every topic is polled.
    pub fn missing(&self) -> Vec<String> {
        let states = self.sources.iter().map(SourceControl::state);
        states
            .filter(|source| !source.is_polling)
            .map(|source| format!("{} is not polled yet", source.topic))
            .collect()
    }

    /// The event source of a function.
    pub fn source(&self, function: &str) -> Option<&SourceControl> {
        self.sources.iter().find(|source| source.state().function == function)
    }

    /// The schedule of a function.
    pub fn schedule(&self, function: &str) -> Option<&ScheduleControl> {
        self.schedules.iter().find(|schedule| schedule.state().function == function)
    }
}

/// What may be changed of a function. What is absent stays as it is.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Change {
    reserved_concurrency: Limit,
    timeout_ms: Option<u64>,
}

/// A limit to set; null lifts it.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(from = "Option<usize>")]
enum Limit {
    #[default]
    AsItIs,
    Lifted,
    At(usize),
}

impl From<Option<usize>> for Limit {
    fn from(given: Option<usize>) -> Self {
        given.map_or(Self::Lifted, Self::At)
    }
}

/// The routes.
pub fn router(controls: Arc<Controls>) -> Router {
    Router::new()
        .route("/control/state", get(state))
        .route("/control/functions/{name}", put(change))
        .route("/control/environments/{id}/{order}", post(environment))
        .route("/control/sources/{function}/{order}", post(source))
        .route("/control/schedules/{function}/{order}", post(schedule))
        .route("/control/stop", post(stop))
        .with_state(controls)
}

async fn state(State(controls): State<Arc<Controls>>) -> Json<StackState> {
    Json(controls.state())
}

async fn change(
    State(controls): State<Arc<Controls>>,
    Path(name): Path<String>,
    Json(change): Json<Change>,
) -> Result<Json<FunctionState>, StatusCode> {
    controls.lambda.set_limits(&name, |limits| {
        limits.reserved = match change.reserved_concurrency {
            Limit::AsItIs => limits.reserved,
            Limit::Lifted => None,
            Limit::At(most) => Some(most),
        };
        limits.timeout = change.timeout_ms.map_or(limits.timeout, Duration::from_millis);
    });
    controls.lambda.state_of(&name).map(Json).ok_or(StatusCode::NOT_FOUND)
}

async fn environment(State(controls): State<Arc<Controls>>, Path((id, order)): Path<(u64, String)>) -> StatusCode {
    let lambda = &controls.lambda;
    let is_there = match order.as_str() {
        "freeze" => lambda.freeze(id),
        "thaw" => lambda.thaw(id),
        "kill" => lambda.kill(id),
        "retire" => lambda.retire(id),
        _ => false,
    };
    if is_there { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND }
}

async fn source(
    State(controls): State<Arc<Controls>>,
    Path((function, order)): Path<(String, String)>,
) -> StatusCode {
    let Some(source) = controls.source(&function) else { return StatusCode::NOT_FOUND };
    match order.as_str() {
        "pause" => source.pause(),
        "resume" => source.resume(),
        "duplicate" => source.duplicate_next(),
        _ => return StatusCode::NOT_FOUND,
    }
    StatusCode::NO_CONTENT
}

async fn schedule(
    State(controls): State<Arc<Controls>>,
    Path((function, order)): Path<(String, String)>,
) -> StatusCode {
    let Some(schedule) = controls.schedule(&function) else { return StatusCode::NOT_FOUND };
    match order.as_str() {
        "pause" => schedule.pause(),
        "resume" => schedule.resume(),
        "fire" => schedule.fire(),
        _ => return StatusCode::NOT_FOUND,
    }
    StatusCode::NO_CONTENT
}

async fn stop(State(controls): State<Arc<Controls>>) -> StatusCode {
    controls.stop.cancel();
    StatusCode::NO_CONTENT
}
