//! What a person reads at the start of a server: what it runs on, where it serves, what is not safe for production.

use std::fmt;

use server::system::Sending;
use settings::{ApiAuth, Settings};

/// Where log and hot state are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// In memory.
    Memory,
    /// On Kafka and Redis.
    Services,
}

/// The start-up screen. It holds addresses, and no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screen {
    runs_on: String,
    url: String,
    metrics: Option<String>,
    settings: String,
    unsafe_because: Vec<String>,
}

impl Screen {
    /// The screen of a server at this URL.
    pub fn new(settings: &Settings, (storage, sending): (Storage, Sending), url: &str) -> Self {
        let file = settings.file().map(|file| format!("{} and ", file.display()));
        Self {
            runs_on: runs_on(settings, storage),
            url: url.to_owned(),
            metrics: settings.metrics.enabled.then(|| format!("http://127.0.0.1:{}/metrics", settings.metrics.port)),
            settings: format!("{}HOWK_* variables; --print-settings shows them", file.unwrap_or_default()),
            unsafe_because: unsafe_because(settings, storage, sending),
        }
    }

    /// Writes the same to the log, where standard error is no terminal.
    pub fn log(&self) {
        tracing::info!("running {}", self.runs_on);
        for reason in &self.unsafe_because {
            tracing::warn!("not safe for production: {reason}");
        }
        tracing::info!("serving {}", self.url);
    }
}

impl fmt::Display for Screen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "\nhowk {}\n", env!("CARGO_PKG_VERSION"))?;
        writeln!(formatter, "  runs      {}", self.runs_on)?;
        writeln!(formatter, "  serves    {}  (API document: {}/openapi.json)", self.url, self.url)?;
        if let Some(metrics) = &self.metrics {
            writeln!(formatter, "  metrics   {metrics}")?;
        }
        writeln!(formatter, "  settings  {}", self.settings)?;
        writeln!(formatter, "  to stop   Ctrl-C; a second Ctrl-C ends howk at once")?;
        if !self.unsafe_because.is_empty() {
            writeln!(formatter, "\n  Not safe for production:")?;
        }
        for reason in &self.unsafe_because {
            writeln!(formatter, "  - {reason}")?;
        }
        Ok(())
    }
}

fn runs_on(settings: &Settings, storage: Storage) -> String {
    match storage {
        Storage::Memory => "in memory, and forgets everything when it ends".to_owned(),
        Storage::Services => {
            let brokers = settings.kafka.cluster_arn.clone().unwrap_or_else(|| settings.kafka.brokers.join(","));
            format!("on Kafka {brokers} and Redis {}", settings.redis.addr)
        }
    }
}

fn unsafe_because(settings: &Settings, storage: Storage, sending: Sending) -> Vec<String> {
    let delivery = &settings.delivery;
    let is_exposed = settings.api.host != "127.0.0.1";
    let reasons = [
        (storage == Storage::Memory, "webhooks are lost when the process ends; run it with --kafka and --redis"),
        (
            settings.api.auth == ApiAuth::None,
            "callers need no API key; set api.auth to keys and list the keys in api.keys",
        ),
        (
            is_exposed,
            "API keys and webhooks arrive unencrypted (plain HTTP); put a proxy with TLS in front of api.host",
        ),
        (
            delivery.allow_private_addresses,
            "receivers at private addresses are allowed; set delivery.allow_private_addresses to false",
        ),
        (delivery.dump_requests, "the log holds the body of every request; set delivery.dump_requests to false"),
        (sending == Sending::Dry, "nothing is sent, every attempt counts as answered with 200; run it without --dry"),
    ];
    reasons.into_iter().filter(|(applies, _)| *applies).map(|(_, reason)| reason.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use settings::{Settings, Sources};

    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        let variables: BTreeMap<String, String> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        settings::load(Sources { file: None, environment: &variables }).unwrap()
    }

    fn shown(variables: &[(&str, &str)], storage: Storage) -> String {
        Screen::new(&settings(variables), (storage, Sending::Real), "http://127.0.0.1:8080").to_string()
    }

    #[test]
    fn in_memory_it_says_that_it_forgets_and_lists_what_is_not_safe() {
        let screen = shown(&[("HOWK_DELIVERY_ALLOW_PRIVATE_ADDRESSES", "true")], Storage::Memory);
        assert!(screen.contains("runs      in memory, and forgets everything"), "{screen}");
        assert!(screen.contains("serves    http://127.0.0.1:8080 "), "{screen}");
        let reasons = screen.lines().filter(|line| line.starts_with("  - ")).count();
        assert_eq!(reasons, 3, "memory, no keys, private addresses: {screen}");
        assert!(screen.lines().count() <= 24, "it fits one screen: {screen}");
    }

    #[test]
    fn on_services_it_names_their_addresses_and_no_secret() {
        let key = r#"{"acme": {"hash": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "config_ids": ["*"]}}"#;
        let screen = shown(
            &[
                ("HOWK_KAFKA_BROKERS", "kafka-1:9092,kafka-2:9092"),
                ("HOWK_REDIS_ADDR", "redis-1:6379"),
                ("HOWK_REDIS_PASSWORD", "hunter2"),
                ("HOWK_SECRETS_KEY", "a key of thirty-two characters or more"),
                ("HOWK_API_AUTH", "keys"),
                ("HOWK_API_KEYS", key),
            ],
            Storage::Services,
        );
        assert!(screen.contains("on Kafka kafka-1:9092,kafka-2:9092 and Redis redis-1:6379"), "{screen}");
        for secret in ["hunter2", "a key of thirty", "0123456789abcdef"] {
            assert!(!screen.contains(secret), "{secret}: {screen}");
        }
        assert!(!screen.contains("Not safe"), "keys, no private receivers, nothing in memory: {screen}");
    }

    #[test]
    fn an_address_that_other_machines_reach_is_not_safe_without_tls() {
        let key = r#"{"acme": {"hash": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "config_ids": ["*"]}}"#;
        let exposed = [("HOWK_API_HOST", "0.0.0.0"), ("HOWK_API_AUTH", "keys"), ("HOWK_API_KEYS", key)];
        let screen = shown(&exposed, Storage::Services);
        assert!(screen.contains("unencrypted (plain HTTP)") && !screen.contains("no API key"), "{screen}");
    }
}
