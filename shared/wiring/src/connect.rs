//! The connections to Kafka and Redis, made in one way for the functions and for a server.
//!
//! Both are made at the same time, since a cold start waits for them.

use std::sync::Arc;
use std::time::Duration;

use delivery::ports::time::{Clock, Random};
use delivery::{Fault, FaultKind};
use log_kafka::{Auth, KafkaLog};
use settings::{Settings, ValidationError};
use store_redis::RedisStore;
use thiserror::Error;

use crate::error::WiringError;
use crate::use_cases::{Stores, UseCases};

/// How long a function waits for Kafka when it starts. Lambda ends a start after 10 seconds; half of that leaves the
/// function time to report why it does not start.
const FUNCTION_REACH_TIMEOUT: Duration = Duration::from_secs(5);

/// The kind of process that connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A server. It does not start without Redis. It makes the topics that are missing and refuses those that are set up
    /// wrongly, unless it signs in with tokens, with which the Kafka client can do neither.
    Server,
    /// A function. Its deployment makes the topics.
    Function(WithoutRedis),
}

/// What a function can do while Redis is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutRedis {
    /// Nothing: the function does not start.
    Nothing,
    /// The part of its work that fails open or is redelivered: the function starts, and logs a warning. Wrong settings
    /// and a refused login end the start all the same.
    Something,
}

/// Everything that could not be connected to.
#[derive(Debug, Error)]
#[error("{}", .0.join("; "))]
pub struct ConnectError(Vec<String>);

/// A log on Kafka and a hot state on Redis, both connected.
#[derive(Clone)]
pub struct Connected {
    /// The log.
    pub log: Arc<KafkaLog>,
    /// The hot state.
    pub stores: Stores,
}

impl Connected {
    /// The use-cases over these connections.
    pub fn use_cases(self, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> UseCases {
        UseCases::new(self.log, self.stores, clock, random)
    }
}

/// Every mistake that shows when [`connect`] is called, except those that only AWS can find.
pub fn connect_mistakes(settings: &Settings, clock: &Arc<dyn Clock>) -> Vec<ValidationError> {
    let kafka = crate::kafka::mistakes(settings, Arc::clone(clock));
    [kafka, crate::redis::mistakes(settings, Arc::clone(clock))].concat()
}

/// Connects to Kafka and Redis.
///
/// # Errors
/// Each setting that cannot be used, each service that cannot be reached, and the topics that are set up wrongly.
pub async fn connect(settings: &Settings, clock: &Arc<dyn Clock>, role: Role) -> Result<Connected, ConnectError> {
    match futures::join!(log(settings, clock, role), store(settings, clock, role)) {
        (Ok(log), Ok(store)) => Ok(Connected { log: Arc::new(log), stores: Stores::of(&Arc::new(store)) }),
        (log, store) => Err(ConnectError(log.err().into_iter().chain(store.err()).collect())),
    }
}

async fn log(settings: &Settings, clock: &Arc<dyn Clock>, role: Role) -> Result<KafkaLog, String> {
    let mut config = crate::kafka::config(settings, Arc::clone(clock)).await.map_err(unusable)?;
    if let Role::Function(_) = role {
        config.reach_timeout = FUNCTION_REACH_TIMEOUT;
    }
    // Before the topics: only the log's own client says why it cannot connect.
    let log = KafkaLog::connect(config.clone(), Arc::clone(clock)).await.map_err(unreached("Kafka"))?;
    match (role, &config.security.auth) {
        (Role::Function(_), _) => {}
        (Role::Server, Auth::Tokens(_)) => {
            tracing::info!("signing in with tokens, howk makes and checks no topics: the deployment has to");
        }
        (Role::Server, Auth::None | Auth::Scram(_)) => {
            crate::kafka::ensure_topics(&config, settings).await.map_err(|fault| fault.chain())?;
        }
    }
    Ok(log)
}

async fn store(settings: &Settings, clock: &Arc<dyn Clock>, role: Role) -> Result<RedisStore, String> {
    let config = crate::redis::config(settings, Arc::clone(clock)).map_err(unusable)?;
    let store = RedisStore::new(&config).map_err(unreached("Redis"))?;
    match store.reach().await {
        Err(fault) if fault.kind == FaultKind::Transient && role == Role::Function(WithoutRedis::Something) => {
            let fault = fault.chain();
            tracing::warn!(fault, "Redis cannot be reached; the start goes on without it");
        }
        reached => reached.map_err(unreached("Redis"))?,
    }
    Ok(store)
}

fn unusable(error: WiringError) -> String {
    ValidationError::from(error).to_string()
}

fn unreached(what: &str) -> impl Fn(Fault) -> String {
    move |fault| format!("{what} cannot be reached: {}", fault.chain())
}
