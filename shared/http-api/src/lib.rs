//! The HTTP API: the router, the bodies of requests and answers, the OpenAPI document.
//!
//! The enqueue function serves it through `lambda_http`, the local servers on a socket. It reads a request, calls one
//! use-case, and writes the answer; errors are problem documents (RFC 9457) that name the field. Deliberately absent:
//! sockets, timers of its own, settings, decisions about webhooks. Every route but `/health`, `/health/dependencies`,
//! `/ready` and `/openapi.json` asks for a key when keys are configured (TN-1), and no answer holds a secret (SE-1).

mod answer;
mod api;
mod auth;
mod bodies;
mod extract;
mod problem;
mod query;
mod requests;
mod routes;
mod time;
mod validation;

pub use api::{Api, ApiLimits, Health};
pub use auth::{ApiKey, Auth, KeyError};
pub use problem::late;
pub use routes::{document, metrics_router, router};

#[cfg(test)]
mod tests;
