//! The back end on Kafka and Redis, for people who run howk on their own without Lambda.
//!
//! Several such servers share the work: each is a member of the consumer groups, and one that dies is taken over when
//! its membership and its claims run out.

use std::sync::Arc;

use anyhow::Context;
use clock_system::SystemClock;
use delivery::Fault;
use delivery::ports::log::Feed;
use delivery::ports::time::Clock;
use domain::Topic;
use log_kafka::{Auth, KafkaLog};
use settings::{Settings, ValidationError};
use store_redis::RedisStore;
use wiring::Stores;

use crate::system::{Backend, Lifetime};

/// Members of each consumer group in one server: each works on one thread at a time.
const MEMBERS: usize = 2;

/// Every mistake that would show here: without a secrets key, for one, secrets would be sealed so that no other server
/// could read them, nor this one after its next start.
pub fn mistakes(settings: &Settings) -> Vec<ValidationError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    [wiring::vault::mistakes(&settings.secrets), wiring::connect_mistakes(settings, &clock)].concat()
}

/// Connects to Kafka and Redis. Topics that are missing are made; those with the wrong cleanup are refused. With tokens
/// the client can do neither.
///
/// # Errors
/// What cannot be reached, or is set up wrongly.
pub async fn connect(settings: &Settings) -> anyhow::Result<Backend> {
    let config = wiring::kafka::config(settings, Arc::new(SystemClock)).await?;
    let specs = wiring::kafka::topic_specs(settings);
    // First, since it alone tells why it is refused.
    let log = KafkaLog::connect(config.clone(), Arc::new(SystemClock)).await.map_err(unreached("Kafka"))?;
    let log = Arc::new(log);
    if matches!(config.security.auth, Auth::Tokens(_)) {
        tracing::info!("signing in with tokens, the Kafka client makes and checks no topics: the deployment has to");
    } else {
        log_kafka::create_topics(&config, &specs).await.context("topics cannot be made")?;
        log_kafka::verify_topics(&config, &specs).await.context("topics are set up wrongly")?;
    }
    let redis = wiring::redis::config(settings, Arc::new(SystemClock))?;
    let store = Arc::new(RedisStore::connect(redis).await.map_err(unreached("Redis"))?);
    let groups = Arc::clone(&log);
    Ok(Backend {
        log,
        stores: Stores::of(&store),
        join: Arc::new(move |topic| join(&groups, topic)),
        lifetime: Lifetime::Beyond,
    })
}

fn unreached(what: &str) -> impl Fn(Fault) -> anyhow::Error {
    move |fault| anyhow::anyhow!("{what} cannot be reached: {}", fault.chain())
}

fn join(log: &KafkaLog, topic: Topic) -> anyhow::Result<Vec<Arc<dyn Feed>>> {
    let members = (0..MEMBERS).map(|_| -> anyhow::Result<Arc<dyn Feed>> { Ok(Arc::new(log.join(topic)?)) });
    members.collect()
}
