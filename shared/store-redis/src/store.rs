//! The store: one connection, the keys, and the ports.

use std::fmt;
use std::time::Duration;

use delivery::Fault;

use crate::config::{RedisConfig, Retention};
use crate::keys::Keys;
use crate::link::{Link, Traffic};

mod acquire;
mod batch;
mod command;
mod dead_letters;
mod endpoints;
mod hot_state;
mod list_changes;
mod recovery;
mod replies;
mod schedule;
mod stats;
mod statuses;
mod unhealthy;
mod writes;

/// Every port of the hot state, on Redis.
pub struct RedisStore {
    link: Link,
    keys: Keys,
    retention: Retention,
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RedisStore").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl RedisStore {
    /// A store that connects with its first command, and tries again with every further one while that fails.
    ///
    /// # Errors
    /// A permanent [`Fault`] when the configuration is wrong in a way that is visible without Redis.
    pub fn new(config: &RedisConfig) -> Result<Self, Fault> {
        let link = Link::new(config)?;
        Ok(Self { link, keys: Keys::new(&config.prefix), retention: config.retention })
    }

    /// A store that is connected.
    ///
    /// # Errors
    /// As [`Self::new`] and [`Self::reach`].
    pub async fn connect(config: RedisConfig) -> Result<Self, Fault> {
        let store = Self::new(&config)?;
        store.reach().await?;
        Ok(store)
    }

    /// Connects now, unless the store is connected.
    ///
    /// # Errors
    /// A permanent [`Fault`] when the configuration or the login is wrong, a transient one when Redis cannot be reached,
    /// since it may be reachable later.
    pub async fn reach(&self) -> Result<(), Fault> {
        self.link.reach().await
    }

    /// The round trips and commands so far.
    pub fn traffic(&self) -> Traffic {
        self.link.traffic()
    }
}

/// Whole milliseconds.
fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
