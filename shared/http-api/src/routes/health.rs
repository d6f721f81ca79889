//! Health of the process and of its dependencies, and whether it takes requests. These routes ask for no key, so their
//! answers hold no detail.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::time;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use delivery::Fault;
use delivery::ports::recovery::Epoch;
use domain::Topic;
use futures::future::{Either, join, select};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::answer::json;
use crate::api::Api;
use crate::bodies::health::{
    Components, Dependencies, DependenciesAnswer, DependencyBody, EpochBody, HealthAnswer, ReadyAnswer,
};

/// How long a part may take to answer: shorter than the timeouts of the health checks that load balancers make.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn routes() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(health)).routes(routes!(ready)).routes(routes!(dependencies))
}

/// The result of checking each part; the error is a text for callers without a key.
struct Checked {
    store: Result<Option<Epoch>, &'static str>,
    log: Result<(), &'static str>,
}

impl Checked {
    const fn is_healthy(&self) -> bool {
        self.store.is_ok() && self.log.is_ok()
    }

    const fn status(&self) -> StatusCode {
        if self.is_healthy() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
    }

    const fn overall(&self) -> &'static str {
        if self.is_healthy() { "healthy" } else { "degraded" }
    }
}

/// The health of the store and the log.
#[utoipa::path(
    get, path = "/health", tag = "operation", security(()),
    responses((status = 200, body = HealthAnswer, description = "healthy"), (status = 503, body = HealthAnswer, description = "degraded"))
)]
async fn health(State(api): State<Arc<Api>>) -> Response {
    let checked = check(&api).await;
    let now = api.clock.now();
    let epoch = checked.store.as_ref().ok().and_then(Option::as_ref);
    let answer = HealthAnswer {
        status: checked.overall(),
        components: Components { store: part(&checked.store), log: part(&checked.log) },
        epoch: epoch.map(|epoch| EpochBody::new(epoch, now)),
        timestamp: time::write(now),
    };
    json(checked.status(), &answer)
}

/// Whether howk takes requests: it serves, the log is reachable, and the hot state is rebuilt.
#[utoipa::path(
    get, path = "/ready", tag = "operation", security(()),
    responses((status = 200, body = ReadyAnswer, description = "ready"), (status = 503, body = ReadyAnswer, description = "not ready"))
)]
async fn ready(State(api): State<Arc<Api>>) -> Response {
    let error = if api.health.ready.load(Ordering::Acquire) {
        match check(&api).await {
            Checked { store: Err(_), .. } => Some("store unavailable"),
            Checked { store: Ok(None), .. } => Some("hot state is not rebuilt yet"),
            Checked { log: Err(_), .. } => Some("log unavailable"),
            Checked { .. } => None,
        }
    } else {
        Some("starting or stopping")
    };
    match error {
        None => json(StatusCode::OK, &ReadyAnswer { status: "ready", error }),
        Some(_) => json(StatusCode::SERVICE_UNAVAILABLE, &ReadyAnswer { status: "not ready", error }),
    }
}

/// The health of each dependency. Answers within 5 seconds.
#[utoipa::path(
    get, path = "/health/dependencies", tag = "operation", security(()),
    responses(
        (status = 200, body = DependenciesAnswer, description = "healthy"),
        (status = 503, body = DependenciesAnswer, description = "degraded")
    )
)]
async fn dependencies(State(api): State<Arc<Api>>) -> Response {
    let checked = check(&api).await;
    let dependency = |error: Option<&'static str>| DependencyBody { status: part(&error.map_or(Ok(()), Err)), error };
    let answer = DependenciesAnswer {
        status: checked.overall(),
        dependencies: Dependencies {
            store: dependency(checked.store.as_ref().err().copied()),
            log: dependency(checked.log.err()),
        },
        timestamp: time::write(api.clock.now()),
    };
    json(checked.status(), &answer)
}

const fn part<T>(checked: &Result<T, &'static str>) -> &'static str {
    if checked.is_ok() { "healthy" } else { "unhealthy" }
}

/// Checks the store and the log at the same time.
async fn check(api: &Api) -> Checked {
    let store = within_timeout(api, api.health.recovery.epoch());
    let log = within_timeout(api, async { api.health.log.extents(Topic::Pending).await.map(drop) });
    let (store, log) = join(store, log).await;
    Checked { store, log }
}

async fn within_timeout<T>(api: &Api, question: impl Future<Output = Result<T, Fault>>) -> Result<T, &'static str> {
    let timeout = api.clock.sleep(TIMEOUT);
    match select(pin!(question), pin!(timeout)).await {
        Either::Left((Ok(answer), _)) => Ok(answer),
        Either::Left((Err(fault), _)) => {
            tracing::warn!(kind = fault.kind.code(), %fault, "a health check failed");
            Err("unavailable")
        }
        Either::Right(_) => Err("no answer within 5 seconds"),
    }
}
