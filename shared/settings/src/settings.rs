//! All settings together: read, checked, shown.
//!
//! `load` calls it. Checks between keys of two sections stand here; checks inside a section stand with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::api::Api;
use crate::circuit_breaker::CircuitBreaker;
use crate::concurrency::Concurrency;
use crate::delivery::Delivery;
use crate::dlq::Dlq;
use crate::effective::{EffectiveKey, Origin, ReadKey, tables};
use crate::endpoints::{self, EndpointSettings};
use crate::ignored::IgnoredKey;
use crate::kafka::Kafka;
use crate::lambda::Lambda;
use crate::log::Log;
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::reader::Reader;
use crate::reconciler::Reconciler;
use crate::redis::Redis;
use crate::retry::Retry;
use crate::scheduler::Scheduler;
use crate::secrets::Secrets;
use crate::ttl::Ttl;

/// The reference in Markdown: of every key its variable, default, what is allowed and what it means; then the ignored
/// keys.
pub fn reference() -> String {
    tables(&Settings::default().keys)
}

/// Every setting, within its bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The HTTP interface that callers use.
    pub api: Api,
    /// Kafka.
    pub kafka: Kafka,
    /// Redis.
    pub redis: Redis,
    /// The requests to endpoints.
    pub delivery: Delivery,
    /// What a dead letter shows.
    pub dlq: Dlq,
    /// When a failed attempt is made again.
    pub retry: Retry,
    /// The circuit of an endpoint.
    pub circuit_breaker: CircuitBreaker,
    /// The release of due webhooks.
    pub scheduler: Scheduler,
    /// The rebuild of the hot state.
    pub reconciler: Reconciler,
    /// How long keys are kept in Redis.
    pub ttl: Ttl,
    /// Limits on requests in flight.
    pub concurrency: Concurrency,
    /// Metrics for Prometheus.
    pub metrics: Metrics,
    /// Endpoints by a pattern of their domain: `*`, `*.x.com`, `x.com`.
    pub endpoints: BTreeMap<String, EndpointSettings>,
    /// The sealing of secrets.
    pub secrets: Secrets,
    /// The log.
    pub log: Log,
    /// The functions.
    pub lambda: Lambda,
    /// Limits of a server that keeps everything in memory.
    pub memory: Memory,
    keys: Vec<ReadKey>,
    pub(crate) ignored: Vec<IgnoredKey>,
    file: Option<PathBuf>,
}

impl Settings {
    /// The value in force of every key, in the order of the reference, with secrets masked: for the log at
    /// the start.
    pub fn effective(&self) -> Vec<EffectiveKey> {
        self.keys.iter().map(ReadKey::effective).collect()
    }

    /// The file that was read.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The keys of the original that are set and steer nothing here, as one line for the log at the start; none when there
    /// are none.
    pub fn ignored(&self) -> Option<String> {
        let keys: Vec<String> =
            self.ignored.iter().map(|IgnoredKey { key, reason, .. }| format!("{key} ({reason})")).collect();
        (!keys.is_empty()).then(|| keys.join(", "))
    }

    /// How an error names a key, or what stands below it in a map: by where it is set.
    pub(crate) fn place_of(&self, key: &str) -> Option<String> {
        let holds = |read: &&ReadKey| {
            key.strip_prefix(read.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.keys.iter().find(holds).map(|read| read.place_of(key))
    }

    pub(crate) fn read(reader: &mut Reader) -> Self {
        let mut settings = Self {
            api: Api::read(reader),
            kafka: Kafka::read(reader),
            redis: Redis::read(reader),
            delivery: Delivery::read(reader),
            dlq: Dlq::read(reader),
            retry: Retry::read(reader),
            circuit_breaker: CircuitBreaker::read(reader),
            scheduler: Scheduler::read(reader),
            reconciler: Reconciler::read(reader),
            ttl: Ttl::read(reader),
            concurrency: Concurrency::read(reader),
            metrics: Metrics::read(reader),
            endpoints: endpoints::read(reader),
            secrets: Secrets::read(reader),
            log: Log::read(reader),
            lambda: Lambda::read(reader),
            memory: Memory::read(reader),
            keys: Vec::new(),
            ignored: Vec::new(),
            file: reader.document.as_ref().map(|document| document.path.clone()),
        };
        settings.keys.clone_from(&reader.keys);
        settings
    }

    /// Adds an error when none of these keys is set.
    pub(crate) fn check_decided(&self, keys: &[&'static str], reader: &mut Reader) {
        let named: Vec<_> = keys.iter().filter_map(|name| self.keys.iter().find(|key| key.path == *name)).collect();
        let Some((first, others)) = named.split_first() else { return };
        if named.iter().all(|key| key.origin == Origin::Default) {
            let instead: Vec<String> = others.iter().map(|key| format!(", nor is {}", key.path)).collect();
            let instead = instead.concat();
            let problem =
                format!("is not set{instead}, and a function has no default for it; set it to {}", first.allowed);
            reader.conflict(keys, problem);
        }
    }

    pub(crate) fn check(&self, reader: &mut Reader) {
        self.api.check(reader);
        self.kafka.check(reader);
        self.redis.check(reader);
        self.delivery.check(reader);
        self.retry.check(reader);
        self.scheduler.check(reader);
        if self.ttl.retry_data_ttl < self.retry.max_delay {
            let keys = ["ttl.retry_data_ttl", "retry.max_delay"];
            reader.conflict(
                &keys,
                "must not be shorter than retry.max_delay, or waiting webhooks are deleted; raise it",
            );
        }
        if self.ttl.circuit_state_ttl <= self.circuit_breaker.recovery_timeout {
            let keys = ["ttl.circuit_state_ttl", "circuit_breaker.recovery_timeout"];
            reader.conflict(
                &keys,
                "must be longer than circuit_breaker.recovery_timeout, or an open circuit is forgotten; raise it",
            );
        }
        if self.metrics.enabled && self.metrics.port == self.api.port && self.api.port != 0 {
            reader.conflict(
                &["metrics.port", "api.port"],
                format!("{} is api.port too; set it to another port", self.metrics.port),
            );
        }
    }
}
