//! The back end on Kafka and Redis, for people who run howk on their own without Lambda.
//!
//! Several such servers share the work: each is a member of the consumer groups, and one that dies is taken over when
//! its membership and its claims run out.

use std::sync::Arc;

use anyhow::Context;
use clock_system::SystemClock;
use delivery::ports::log::Feed;
use domain::Topic;
use log_kafka::{Auth, Compression, ConsumerConfig, GroupConfig, KafkaConfig, KafkaLog, ProducerConfig, Scram};
use log_kafka::{Security, TopicNames};
use settings::{Kafka, KafkaAuth, Redis, Settings};
use store_redis::{Login, RedisConfig, RedisStore, Tls, Topology};

use crate::system::{Backend, Lifetime};

/// Members of each consumer group in one server: each works on one thread at a time.
const MEMBERS: usize = 2;

/// Connects to Kafka and Redis. Topics that are missing are made; those with the wrong cleanup are refused.
///
/// # Errors
/// What cannot be reached, or is set up wrongly.
pub async fn connect(settings: &Settings) -> anyhow::Result<Backend> {
    let config = kafka(&settings.kafka)?;
    let specs = config.topics.specs();
    log_kafka::create_topics(&config, &specs).await.context("topics cannot be made")?;
    log_kafka::verify_topics(&config, &specs).await.context("topics are set up wrongly")?;
    let log = Arc::new(KafkaLog::connect(config, Arc::new(SystemClock)).await.context("Kafka cannot be reached")?);
    let store = Arc::new(RedisStore::connect(redis(&settings.redis)).await.context("Redis cannot be reached")?);
    let groups = Arc::clone(&log);
    Ok(Backend {
        log,
        hot: Arc::<RedisStore>::clone(&store),
        schedule: Arc::<RedisStore>::clone(&store),
        statuses: Arc::<RedisStore>::clone(&store),
        endpoints: Arc::<RedisStore>::clone(&store),
        dead_letters: Arc::<RedisStore>::clone(&store),
        stats: Arc::<RedisStore>::clone(&store),
        recovery: store,
        join: Arc::new(move |topic| join(&groups, topic)),
        lifetime: Lifetime::Beyond,
    })
}

fn join(log: &KafkaLog, topic: Topic) -> anyhow::Result<Vec<Arc<dyn Feed>>> {
    let members = (0..MEMBERS).map(|_| -> anyhow::Result<Arc<dyn Feed>> { Ok(Arc::new(log.join(topic)?)) });
    members.collect()
}

fn kafka(settings: &Kafka) -> anyhow::Result<KafkaConfig> {
    let auth = match settings.auth {
        KafkaAuth::None => Auth::None,
        KafkaAuth::Scram => Auth::Scram(Scram {
            username: settings.username.clone().unwrap_or_default(),
            password: settings.password.clone().context("kafka.password")?,
        }),
        KafkaAuth::Iam => {
            anyhow::bail!("kafka.auth iam is for functions in AWS; a server of one's own uses scram or none")
        }
    };
    Ok(KafkaConfig {
        security: Security { auth, tls: settings.tls, ca_file: None },
        topics: topics(&settings.topics),
        group: GroupConfig {
            name: settings.consumer.group.clone(),
            session_timeout: settings.group.session_timeout,
            heartbeat_interval: settings.group.heartbeat_interval,
            rebalance_timeout: settings.group.rebalance_timeout,
        },
        producer: ProducerConfig {
            linger: std::time::Duration::from_millis(u64::from(settings.producer.linger_ms)),
            batch_bytes_max: settings.producer.batch_size,
            compression: compression(settings.producer.compression),
            ..ProducerConfig::default()
        },
        consumer: ConsumerConfig::default(),
        ..KafkaConfig::new(settings.brokers.clone())
    })
}

fn topics(names: &settings::Topics) -> TopicNames {
    TopicNames {
        pending: names.pending.clone(),
        slow: names.slow.clone(),
        results: names.results.clone(),
        deadletter: names.deadletter.clone(),
        state: names.state.clone(),
        scripts: names.scripts.clone(),
    }
}

const fn compression(wanted: settings::Compression) -> Compression {
    match wanted {
        settings::Compression::Lz4 => Compression::Lz4,
        settings::Compression::Zstd => Compression::Zstd,
        settings::Compression::Snappy => Compression::Snappy,
        settings::Compression::Gzip => Compression::Gzip,
        settings::Compression::None => Compression::None,
    }
}

fn redis(settings: &Redis) -> RedisConfig {
    let login = settings.password.clone().map_or(Login::None, |password| {
        let user = settings.username.clone();
        Login::Password { user, password }
    });
    RedisConfig {
        nodes: vec![settings.addr.clone()],
        topology: if settings.cluster { Topology::Cluster } else { Topology::Single },
        tls: settings.tls.then(Tls::default),
        login,
        connect_timeout: settings.timeouts.dial_timeout,
        command_timeout: settings.timeouts.read_timeout.max(settings.timeouts.write_timeout),
        ..RedisConfig::default()
    }
}
