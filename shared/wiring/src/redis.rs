//! The hot state on Redis.

use std::sync::Arc;

use delivery::ports::time::Clock;
use settings::{Redis, Settings};
use store_redis::{Login, RedisConfig, Retention, Tls, Topology};

use crate::error::WiringError;

/// What the store is built from. Whatever ends, such as a token, is judged by `clock`.
///
/// # Errors
/// The key that cannot be used.
pub fn config(settings: &Settings, _clock: Arc<dyn Clock>) -> Result<RedisConfig, WiringError> {
    let redis = &settings.redis;
    if !redis.sentinel.addrs.is_empty() {
        let problem = "sentinels are not asked: name the server in redis.addr, or use a cluster";
        return Err(WiringError::key("redis.sentinel_addrs", problem));
    }
    Ok(RedisConfig {
        nodes: vec![redis.addr.clone()],
        topology: if redis.cluster { Topology::Cluster } else { Topology::Single },
        database: redis.db,
        tls: redis.tls.then(Tls::default),
        login: login(redis),
        connect_timeout: redis.timeouts.dial_timeout,
        command_timeout: redis.timeouts.read_timeout.max(redis.timeouts.write_timeout),
        retention: retention(settings),
        ..RedisConfig::default()
    })
}

fn login(redis: &Redis) -> Login {
    let user = redis.username.clone();
    redis.password.clone().map_or(Login::None, |password| Login::Password { user, password })
}

/// One key holds all that is known of a webhook, so it stays for the longest of its parts' times. The index of dead
/// letters stays as long as the topic that it points into.
fn retention(settings: &Settings) -> Retention {
    let ttl = &settings.ttl;
    Retention {
        webhook: ttl.status_ttl.max(ttl.idempotency_ttl).max(ttl.retry_data_ttl),
        endpoint: ttl.circuit_state_ttl,
        dead_letters: settings.kafka.retention,
        stats: ttl.stats_ttl,
    }
}
