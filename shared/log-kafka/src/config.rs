//! The configuration of the clients. The roots fill it from the settings; nothing here reads the environment.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use domain::{Secret, Timestamp};

use crate::topics::TopicNames;
use crate::traffic::TrafficCounter;

/// Where Kafka is, how to sign in, and how to use it.
#[derive(Debug, Clone)]
pub struct KafkaConfig {
    /// The brokers to start from, as host:port. At least 1.
    pub brokers: Vec<String>,
    /// How to sign in.
    pub security: Security,
    /// The names of the topics.
    pub topics: TopicNames,
    /// Membership of consumer groups.
    pub group: GroupConfig,
    /// Writing.
    pub producer: ProducerConfig,
    /// Reading.
    pub consumer: ConsumerConfig,
    /// How long any single request to the cluster may take.
    pub request_timeout: Duration,
    /// How long signing in and the first connection to a broker may take; never longer than `request_timeout`.
    pub reach_timeout: Duration,
    /// Counts the traffic, if there is one.
    pub traffic: Option<TrafficCounter>,
}

impl KafkaConfig {
    /// The defaults on these brokers.
    pub fn new(brokers: Vec<String>) -> Self {
        Self {
            brokers,
            security: Security::default(),
            topics: TopicNames::default(),
            group: GroupConfig::default(),
            producer: ProducerConfig::default(),
            consumer: ConsumerConfig::default(),
            request_timeout: Duration::from_secs(10),
            reach_timeout: Duration::from_secs(10),
            traffic: None,
        }
    }

    /// The same with topics and groups of its own, for systems that share a cluster.
    #[must_use]
    pub fn prefixed(self, prefix: &str) -> Self {
        let group = GroupConfig { name: format!("{prefix}{}", self.group.name), ..self.group };
        Self { topics: TopicNames::prefixed(prefix), group, ..self }
    }
}

/// How to sign in, and whether connections are encrypted.
#[derive(Debug, Clone, Default)]
pub struct Security {
    /// How to sign in.
    pub auth: Auth,
    /// Whether connections are encrypted.
    pub tls: bool,
    /// A file of CA certificates to trust in place of the system's.
    pub ca_file: Option<String>,
}

/// How to sign in.
#[derive(Debug, Clone, Default)]
pub enum Auth {
    /// Not at all.
    #[default]
    None,
    /// SASL/SCRAM with SHA-512, the one that MSK knows.
    Scram(Scram),
    /// SASL/OAUTHBEARER with tokens from a source, such as an AWS role.
    Tokens(Arc<dyn TokenSource>),
}

/// A user name and a password.
#[derive(Debug, Clone)]
pub struct Scram {
    /// The user name.
    pub username: String,
    /// The password.
    pub password: Secret,
}

/// A token that a client signs in with.
#[derive(Clone)]
pub struct Token {
    /// The text.
    pub value: Secret,
    /// The name of the identity.
    pub principal: String,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// Makes tokens.
///
/// Contract: it is called from threads of the Kafka client and may block, never for longer than one request takes.
pub trait TokenSource: Send + Sync {
    /// A token that is valid for at least another minute.
    ///
    /// # Errors
    /// Why there is none. The client calls again after a pause.
    fn token(&self) -> Result<Token, Box<dyn Error>>;

    /// Whether a token that ends at this time has ended, by the wall clock.
    fn has_ended(&self, end: Timestamp) -> bool;
}

impl fmt::Debug for dyn TokenSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TokenSource")
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Token").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

/// How a member of a consumer group shows that it is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupConfig {
    /// The group of the fast lane; the slow lane's is this with `-slow` behind it.
    pub name: String,
    /// A member without a heartbeat for this long is removed from the group.
    pub session_timeout: Duration,
    /// How often a heartbeat is sent; shorter than the session timeout.
    pub heartbeat_interval: Duration,
    /// How long members have to join when the group changes.
    pub rebalance_timeout: Duration,
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self {
            name: "howk-workers".to_owned(),
            session_timeout: Duration::from_secs(10),
            heartbeat_interval: Duration::from_secs(3),
            rebalance_timeout: Duration::from_secs(10),
        }
    }
}

/// How records are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducerConfig {
    /// How long a batch may wait for more records when a caller waits for the publish. 0 s..=5 s.
    pub linger: Duration,
    /// The same for the records of deliveries: results, snapshots, tombstones, dead letters. No caller waits for them, and a
    /// request to a broker costs both sides more than a record does. Never shorter than `linger`.
    pub linger_behind: Duration,
    /// The largest batch for one partition, in bytes; a larger record goes alone.
    pub batch_bytes_max: u32,
    /// The codec of batches, by the client's name for it (`compression.type`).
    pub compression: &'static str,
    /// How long a record may wait for its acknowledgement; shorter than the caller's timeout. A publish that finds its producer
    /// stale may take twice as long.
    pub timeout: Duration,
    /// A producer that was not used for this long, by the wall clock, is replaced before it is used. Below the brokers'
    /// `connections.max.idle.ms`, 10 minutes by default.
    pub idle_max: Duration,
    /// Bytes that may wait to be sent, of all publishes together; more wait for room, for `timeout` at most while nothing
    /// is acknowledged.
    pub queue_bytes_max: u64,
}

impl Default for ProducerConfig {
    fn default() -> Self {
        Self {
            linger: Duration::from_millis(1),
            linger_behind: Duration::from_millis(5),
            batch_bytes_max: 1_000_000,
            compression: "lz4",
            timeout: Duration::from_secs(10),
            idle_max: Duration::from_mins(5),
            queue_bytes_max: 128 << 20,
        }
    }
}

/// How records are fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerConfig {
    /// The bytes that a fetch waits for.
    pub fetch_bytes_min: u32,
    /// How long a fetch waits for them. Records that come are answered at once, so a longer wait delays nothing and
    /// spares the brokers: at 5 ms one idle member keeps a fifth of a core busy, at 100 ms a fortieth. A partition that
    /// a member gets may wait this long for its first fetch.
    pub fetch_wait: Duration,
    /// Bytes that a client may hold before its caller takes them; one record may go beyond.
    pub queue_bytes_max: u32,
}

impl Default for ConsumerConfig {
    fn default() -> Self {
        Self { fetch_bytes_min: 1, fetch_wait: Duration::from_millis(100), queue_bytes_max: 16 << 20 }
    }
}
