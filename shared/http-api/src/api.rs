//! The parts that the router needs: use-cases, ports to read from, and limits. The binaries fill it in.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use delivery::dead_letters::DeadLetterService;
use delivery::endpoints::EndpointService;
use delivery::enqueue::Enqueue;
use delivery::ports::log::Log;
use delivery::ports::recovery::Recovery;
use delivery::ports::stats::Stats;
use delivery::ports::statuses::Statuses;
use delivery::ports::time::Clock;

use crate::auth::Auth;

/// The parts that the routes need.
#[derive(Clone)]
pub struct Api {
    /// Accepts webhooks.
    pub enqueue: Enqueue,
    /// The statuses of webhooks.
    pub statuses: Arc<dyn Statuses>,
    /// Hourly statistics.
    pub stats: Arc<dyn Stats>,
    /// Lists and replays dead letters.
    pub dead_letters: DeadLetterService,
    /// Shows endpoints and records their owners' decisions.
    pub endpoints: EndpointService,
    /// The parts that the health routes check.
    pub health: Health,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Bounds and defaults.
    pub limits: ApiLimits,
    /// Which requests are answered.
    pub auth: Auth,
    /// Renders the metrics as Prometheus text; the recorder is the binary's.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
}

/// Bounds and defaults of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiLimits {
    /// The largest body, in bytes; a larger one is answered 413.
    pub body_bytes_max: usize,
    /// The `max_attempts` of a webhook that names none. Bounds: 1 to [`domain::MAX_ATTEMPTS_MAX`], by the caller.
    pub default_max_attempts: u32,
}

impl Default for ApiLimits {
    fn default() -> Self {
        Self { body_bytes_max: 1024 * 1024, default_max_attempts: domain::MAX_ATTEMPTS_DEFAULT }
    }
}

/// The parts that the health routes check.
#[derive(Clone)]
pub struct Health {
    /// The store: it is up when it answers, and rebuilt when it has an epoch.
    pub recovery: Arc<dyn Recovery>,
    /// The log: it is up when it answers with its extents.
    pub log: Arc<dyn Log>,
    /// Whether the server takes requests: set once it serves, unset when it begins to stop.
    pub ready: Arc<AtomicBool>,
}
