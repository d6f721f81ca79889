//! The hot state on Redis.

use std::sync::Arc;

use delivery::ports::time::Clock;
use settings::{Redis, RedisAuth, Settings, ValidationError};
#[cfg(feature = "iam")]
use store_redis::{Cache, IamLogins};
use store_redis::{Login, RedisConfig, Retention, Tls, Topology};

use crate::error::{self, WiringError};

/// The configuration of the store. `clock` decides when a token has expired.
///
/// # Errors
/// The key that cannot be used.
pub fn config(settings: &Settings, clock: Arc<dyn Clock>) -> Result<RedisConfig, WiringError> {
    let redis = &settings.redis;
    without_sentinels(redis)?;
    Ok(RedisConfig {
        nodes: vec![redis.addr.clone()],
        topology: if redis.cluster { Topology::Cluster } else { Topology::Single },
        database: redis.db,
        tls: tls(redis)?,
        login: login(redis, clock)?,
        connect_timeout: redis.timeouts.dial_timeout,
        command_timeout: redis.timeouts.read_timeout.max(redis.timeouts.write_timeout),
        retention: retention(settings),
        ..RedisConfig::default()
    })
}

/// Every mistake that shows when the store is connected; `clock` as for [`config`].
pub fn mistakes(settings: &Settings, clock: Arc<dyn Clock>) -> Vec<ValidationError> {
    let redis = &settings.redis;
    error::mistakes([without_sentinels(redis), tls(redis).map(drop), login(redis, clock).map(drop)])
}

fn without_sentinels(redis: &Redis) -> Result<(), WiringError> {
    let problem = "sentinels are not asked: name the server in redis.addr, or use a cluster";
    let named = (!redis.sentinel.addrs.is_empty()).then(|| WiringError::key("redis.sentinel_addrs", problem));
    named.map_or(Ok(()), Err)
}

fn tls(redis: &Redis) -> Result<Option<Tls>, WiringError> {
    if !redis.tls && redis.login() != RedisAuth::Iam {
        return Ok(None);
    }
    let read = redis.ca_file.as_ref().map(|file| std::fs::read(file).map_err(|error| (file, error))).transpose();
    let authorities = read.map_err(|(file, error)| {
        WiringError::key("redis.ca_file", format!("{file} cannot be read: {error}; name a PEM file, or remove it"))
    })?;
    Ok(Some(Tls { authorities }))
}

fn login(redis: &Redis, clock: Arc<dyn Clock>) -> Result<Login, WiringError> {
    match redis.login() {
        RedisAuth::None => Ok(Login::None),
        RedisAuth::Password => {
            let password = redis.password.clone().ok_or_else(|| needed("redis.password"))?;
            Ok(Login::Password { user: redis.username.clone(), password })
        }
        RedisAuth::Iam => iam(redis, clock),
    }
}

fn needed(key: &str) -> WiringError {
    WiringError::key(key, "is needed to log in")
}

/// Logs in with the AWS identity of the process, in the region of its AWS settings.
#[cfg(feature = "iam")]
fn iam(redis: &Redis, clock: Arc<dyn Clock>) -> Result<Login, WiringError> {
    let user = redis.username.clone().ok_or_else(|| needed("redis.username"))?;
    let name = redis.iam.cache.clone().ok_or_else(|| needed("redis.iam_cache"))?;
    let cache = if redis.iam.serverless { Cache::Serverless(name) } else { Cache::Group(name) };
    Ok(Login::From(Arc::new(IamLogins::of_process(cache, user, clock))))
}

#[cfg(not(feature = "iam"))]
fn iam(_: &Redis, _clock: Arc<dyn Clock>) -> Result<Login, WiringError> {
    Err(WiringError::Lacking { key: "redis.auth", feature: "iam" })
}

/// How long keys are kept. One key holds everything about a webhook, so it lives as long as its longest-lived part. The
/// index of dead letters lives as long as the records of the topic that it points to.
fn retention(settings: &Settings) -> Retention {
    let ttl = &settings.ttl;
    Retention {
        webhook: ttl.status_ttl.max(ttl.idempotency_ttl).max(ttl.retry_data_ttl),
        endpoint: ttl.circuit_state_ttl,
        dead_letters: settings.kafka.retention,
        stats: ttl.stats_ttl,
    }
}
