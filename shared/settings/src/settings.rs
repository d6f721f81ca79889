//! All settings together: read, checked, shown.
//!
//! The crate's front. Checks between keys of two sections stand here; checks inside a section stand with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::api::Api;
use crate::circuit_breaker::CircuitBreaker;
use crate::concurrency::Concurrency;
use crate::delivery::Delivery;
use crate::dlq::Dlq;
use crate::effective::{EffectiveKey, Origin, ReadKey, table};
use crate::endpoints::{self, EndpointSettings};
use crate::file::{Found, find};
use crate::kafka::Kafka;
use crate::lambda::Lambda;
use crate::loaded::Loaded;
use crate::log::Log;
use crate::lua::Lua;
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::mistake::SettingsErrors;
use crate::reader::Reader;
use crate::reconciler::Reconciler;
use crate::redis::Redis;
use crate::retry::Retry;
use crate::scheduler::Scheduler;
use crate::secrets::Secrets;
use crate::sources::{Environment, Sources};
use crate::transformer::Transformer;
use crate::ttl::Ttl;
use crate::unknown;

/// Reads and checks all settings.
///
/// # Errors
/// Every mistake of the file and the variables at once; show them and do not start.
pub fn load(sources: Sources<'_>) -> Result<Settings, SettingsErrors> {
    read_function(sources, &[]).checked()
}

/// Reads and checks all settings, for a deployed function: nobody looks at it starting, so what has a default that only
/// suits one's own machine must be `decided`, whatever the decision is. Each entry holds keys of which one must be set.
/// Whoever has more to say about the settings says it before they are checked.
pub fn read_function(sources: Sources<'_>, decided: &[&[&'static str]]) -> Loaded {
    let Sources { file, environment } = sources;
    let found = find(file, &environment.variables());
    assemble(found, environment, decided)
}

/// The reference of all keys as a Markdown table: key, variable, default, what is allowed, meaning.
pub fn reference() -> String {
    table(&Settings::default().keys)
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
    /// How long things are kept in Redis.
    pub ttl: Ttl,
    /// Scripts of tenants.
    pub lua: Lua,
    /// Limits on requests in flight.
    pub concurrency: Concurrency,
    /// The transformers behind `/incoming`.
    pub transformer: Transformer,
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
    /// Limits of the embedded server.
    pub memory: Memory,
    keys: Vec<ReadKey>,
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

    fn read(reader: &mut Reader) -> Self {
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
            lua: Lua::read(reader),
            concurrency: Concurrency::read(reader),
            transformer: Transformer::read(reader),
            metrics: Metrics::read(reader),
            endpoints: endpoints::read(reader),
            secrets: Secrets::read(reader),
            log: Log::read(reader),
            lambda: Lambda::read(reader),
            memory: Memory::read(reader),
            keys: Vec::new(),
            file: reader.path.clone(),
        };
        settings.keys.clone_from(&reader.keys);
        settings
    }

    /// Notes that none of these keys is set.
    fn check_decided(&self, keys: &[&'static str], reader: &mut Reader) {
        let named: Vec<_> = keys.iter().filter_map(|name| self.keys.iter().find(|key| key.path == *name)).collect();
        let Some((first, others)) = named.split_first() else { return };
        if named.iter().all(|key| key.origin == Origin::Default) {
            let instead: Vec<String> = others.iter().map(|key| format!(", nor is {}", key.path)).collect();
            let instead = instead.concat();
            let problem = format!("is not set{instead}, and a function has no default for it: {}", first.allowed);
            reader.conflict(keys, problem);
        }
    }

    fn check(&self, reader: &mut Reader) {
        self.api.check(reader);
        self.kafka.check(reader);
        self.redis.check(reader);
        self.delivery.check(reader);
        self.retry.check(reader);
        self.scheduler.check(reader);
        self.transformer.check(reader);
        if self.concurrency.inflight_ttl <= self.delivery.timeout {
            let keys = ["concurrency.inflight_ttl", "delivery.timeout"];
            reader.conflict(&keys, "must be longer than delivery.timeout, or a running request loses its place");
        }
        if self.ttl.retry_data_ttl < self.retry.max_delay {
            let keys = ["ttl.retry_data_ttl", "retry.max_delay"];
            reader.conflict(&keys, "must not be shorter than retry.max_delay, or waiting webhooks are deleted");
        }
        if self.ttl.circuit_state_ttl <= self.circuit_breaker.recovery_timeout {
            let keys = ["ttl.circuit_state_ttl", "circuit_breaker.recovery_timeout"];
            reader.conflict(
                &keys,
                "must be longer than circuit_breaker.recovery_timeout, or an open circuit is forgotten",
            );
        }
        if self.metrics.enabled && self.metrics.port == self.api.port && self.api.port != 0 {
            reader.conflict(&["metrics.port", "api.port"], format!("{} is api.port too", self.metrics.port));
        }
    }
}

impl Default for Settings {
    /// The settings of a process without file and variables.
    fn default() -> Self {
        Self::read(&mut Reader::new(Found::Nothing, &BTreeMap::new()))
    }
}

/// Reads and checks settings from what was found.
pub(crate) fn assemble(found: Found, environment: &dyn Environment, decided: &[&[&'static str]]) -> Loaded {
    let mut reader = Reader::new(found, environment);
    let settings = Settings::read(&mut reader);
    settings.check(&mut reader);
    for keys in decided {
        settings.check_decided(keys, &mut reader);
    }
    let unknown = unknown::mistakes(&reader);
    reader.mistakes.extend(unknown);
    Loaded { settings, mistakes: reader.mistakes, broken: reader.broken }
}
