//! The connections that every function has: to Kafka and to Redis, both at once, since a cold start waits for them.

use std::error::Error;
use std::sync::Arc;

use delivery::FaultKind;
use delivery::ports::time::{Clock, Random};
use log_kafka::KafkaLog;
use settings::Settings;
use store_redis::RedisStore;
use thiserror::Error;

use crate::use_cases::{Stores, UseCases};

/// What could not be connected to.
#[derive(Debug, Error)]
#[error("{what} cannot be reached")]
pub struct ConnectError {
    what: &'static str,
    source: Box<dyn Error + Send + Sync>,
}

impl ConnectError {
    fn of<E: Error + Send + Sync + 'static>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self { what, source: Box::new(source) }
    }
}

/// What a function can do while Redis is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutRedis {
    /// Nothing: it does not start.
    Nothing,
    /// What fails open, or is handed back: it starts, and says so. Settings or a login that are wrong are refused all the
    /// same.
    Something,
}

/// Connects to Kafka and Redis. Neither makes nor checks topics.
///
/// # Errors
/// A setting that cannot be used, or what cannot be reached.
pub async fn connect(
    settings: &Settings,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    without_redis: WithoutRedis,
) -> Result<UseCases, ConnectError> {
    let kafka = async {
        let config = crate::kafka::config(settings, Arc::clone(&clock)).await.map_err(ConnectError::of("Kafka"))?;
        KafkaLog::connect(config, Arc::clone(&clock)).await.map_err(ConnectError::of("Kafka"))
    };
    let redis = async {
        let config = crate::redis::config(settings, Arc::clone(&clock)).map_err(ConnectError::of("Redis"))?;
        let store = RedisStore::new(&config).map_err(ConnectError::of("Redis"))?;
        match store.reach().await {
            Err(fault) if fault.kind == FaultKind::Transient && without_redis == WithoutRedis::Something => {
                let fault = fault.chain();
                tracing::warn!(fault, "Redis cannot be reached; the start goes on without it");
            }
            reached => reached.map_err(ConnectError::of("Redis"))?,
        }
        Ok(store)
    };
    let (log, store) = futures::try_join!(kafka, redis)?;
    Ok(UseCases::new(Arc::new(log), Stores::of(&Arc::new(store)), Arc::clone(&clock), random))
}
