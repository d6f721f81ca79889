//! The connections that every function has: to Kafka and to Redis, both at once, since a cold start waits for them.

use std::sync::Arc;
use std::time::Duration;

use delivery::ports::time::{Clock, Random};
use delivery::{Fault, FaultKind};
use log_kafka::KafkaLog;
use settings::{Settings, ValidationError};
use store_redis::RedisStore;
use thiserror::Error;

use crate::error::WiringError;
use crate::use_cases::{Stores, UseCases};

/// How long reaching Kafka may take, so that a function whose start the platform ends after 10 seconds still tells why.
const REACH: Duration = Duration::from_secs(5);

/// What a function can do while Redis is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutRedis {
    /// Nothing: it does not start.
    Nothing,
    /// What fails open, or is handed back: it starts, and says so. Settings or a login that are wrong are refused all the
    /// same.
    Something,
}

/// Everything that could not be connected to.
#[derive(Debug, Error)]
#[error("{}", .0.join("; "))]
pub struct ConnectError(Vec<String>);

/// Every mistake that shows when [`connect`] is called, but for those that only AWS knows.
pub fn connect_mistakes(settings: &Settings, clock: &Arc<dyn Clock>) -> Vec<ValidationError> {
    let kafka = crate::kafka::mistakes(settings, Arc::clone(clock));
    [kafka, crate::redis::mistakes(settings, Arc::clone(clock))].concat()
}

/// Connects to Kafka and Redis. Neither makes nor checks topics.
///
/// # Errors
/// Each setting that cannot be used, and what cannot be reached.
pub async fn connect(
    settings: &Settings,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    without_redis: WithoutRedis,
) -> Result<UseCases, ConnectError> {
    let kafka = async {
        let mut config = crate::kafka::config(settings, Arc::clone(&clock)).await.map_err(unusable)?;
        config.reach_timeout = REACH;
        KafkaLog::connect(config, Arc::clone(&clock)).await.map_err(|fault| unreached("Kafka", &fault))
    };
    let redis = async {
        let config = crate::redis::config(settings, Arc::clone(&clock)).map_err(unusable)?;
        let store = RedisStore::new(&config).map_err(|fault| unreached("Redis", &fault))?;
        match store.reach().await {
            Err(fault) if fault.kind == FaultKind::Transient && without_redis == WithoutRedis::Something => {
                let fault = fault.chain();
                tracing::warn!(fault, "Redis cannot be reached; the start goes on without it");
            }
            reached => reached.map_err(|fault| unreached("Redis", &fault))?,
        }
        Ok(store)
    };
    match futures::join!(kafka, redis) {
        (Ok(log), Ok(store)) => {
            Ok(UseCases::new(Arc::new(log), Stores::of(&Arc::new(store)), Arc::clone(&clock), random))
        }
        (log, store) => Err(ConnectError(log.err().into_iter().chain(store.err()).collect())),
    }
}

fn unusable(error: WiringError) -> String {
    ValidationError::from(error).to_string()
}

fn unreached(what: &str, fault: &Fault) -> String {
    format!("{what} cannot be reached: {}", fault.chain())
}
