//! howk's own state, read from Redis: waiting webhooks, unhealthy endpoints, deliveries.

use std::sync::Arc;

use clock_system::SystemClock;
use delivery::ports::endpoints::Endpoints;
use delivery::ports::recovery::Recovery;
use delivery::ports::schedule::Schedule;
use delivery::ports::stats::{Hour, Stats};
use delivery::ports::time::Clock;
use domain::Circuit;
use settings::Settings;
use store_redis::RedisStore;

/// How many unhealthy endpoints are read for one picture, so that Redis is not busy with it.
const ENDPOINTS_MAX: usize = 200;

/// What the view shows of howk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HowkState {
    /// Whether the hot state is rebuilt.
    pub is_rebuilt: bool,
    /// Webhooks that wait for a retry.
    pub waiting: u64,
    /// Those of them that are due.
    pub due: u64,
    /// Endpoints whose circuit is not closed.
    pub open_circuits: u64,
    /// Endpoints that are not healthy.
    pub unhealthy: u64,
    /// Webhooks accepted in this hour.
    pub enqueued: u64,
    /// Webhooks delivered in this hour.
    pub delivered: u64,
    /// Webhooks dead-lettered in this hour.
    pub exhausted: u64,
}

/// Reads howk's state from Redis.
pub struct HowkReader {
    store: RedisStore,
    clock: SystemClock,
}

impl HowkReader {
    /// Connects.
    ///
    /// # Errors
    /// When Redis can't be reached.
    pub async fn new(settings: &Settings) -> anyhow::Result<Self> {
        let config = wiring::redis::config(settings, Arc::new(SystemClock))?;
        Ok(Self { store: RedisStore::connect(config).await?, clock: SystemClock })
    }

    /// The state now.
    ///
    /// # Errors
    /// When Redis doesn't answer.
    pub async fn read(&self) -> anyhow::Result<HowkState> {
        let now = self.clock.now();
        let depth = self.store.depth(now).await?;
        let hashes = self.store.unhealthy(None, ENDPOINTS_MAX).await?;
        let mut open_circuits = 0;
        for hash in &hashes {
            let found = self.store.endpoint(hash, now).await?;
            let is_open = found.is_some_and(|found| !matches!(found.state.circuit, Circuit::Closed { .. }));
            open_circuits += u64::from(is_open);
        }
        let (counts, _) = self.store.sum(&[Hour(now.as_secs() / 3600)]).await?;
        Ok(HowkState {
            is_rebuilt: self.store.epoch().await?.is_some(),
            waiting: depth.waiting,
            due: depth.due,
            open_circuits,
            unhealthy: u64::try_from(hashes.len())?,
            enqueued: counts.enqueued,
            delivered: counts.delivered,
            exhausted: counts.exhausted,
        })
    }
}
