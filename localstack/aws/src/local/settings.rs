//! The settings of the functions: `HOWK_*` variables and the file, as they are, and where neither sets a key, values that
//! suit one machine.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ::settings::{Kafka, KafkaAuth, Loaded, Origin, Settings, SettingsErrors, Sources, ValidationError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clock_system::SystemClock;
use delivery::ports::time::{Clock, Random};
use log_kafka::TopicSpec;

use super::services::Services;

/// Variables that the functions get beside howk's own.
const HANDED_ON: [&str; 4] = ["AWS_LAMBDA_LOG_FORMAT", "AWS_LAMBDA_LOG_LEVEL", "RUST_BACKTRACE", "RUST_LOG"];
/// Values that suit one machine: receivers on it, a Redis in cluster mode, and callers without keys.
const LOCAL: [(&str, &str); 3] =
    [("delivery.allow_private_addresses", "true"), ("redis.cluster", "true"), ("api.auth", "none")];
const KEY: &str = "secrets.key";
/// This key may also be set by the list of functions.
const CONCURRENCY: &str = "delivery.concurrency";

/// The variables of the functions, and the settings that the functions read from them.
#[derive(Debug)]
pub struct FunctionSettings {
    /// The variables that every function gets.
    pub variables: BTreeMap<String, String>,
    /// The settings that a function reads from them.
    pub settings: Settings,
    /// The values that were chosen here, as lines for people.
    pub chosen: Vec<String>,
}

/// Puts the functions' variables together, before the addresses of Kafka and Redis are known.
///
/// # Errors
/// Every mistake in the settings.
pub fn resolve(
    environment: &BTreeMap<String, String>,
    file: Option<&Path>,
    random: &dyn Random,
) -> Result<FunctionSettings, SettingsErrors> {
    let mut variables: BTreeMap<String, String> = environment
        .iter()
        .filter(|(name, _)| name.starts_with("HOWK_") || HANDED_ON.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if let Some(file) = file {
        // A function may run in another folder.
        let path = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
        variables.insert("HOWK_CONFIG".to_owned(), path.display().to_string());
    }
    let given = read(&variables, file).checked()?;
    let is_unset = |key: &str| given.effective().iter().any(|read| read.key == key && read.origin == Origin::Default);
    let mut chosen = Vec::new();
    for (key, value) in LOCAL.into_iter().filter(|(key, _)| is_unset(key)) {
        variables.insert(variable(key), value.to_owned());
        chosen.push(format!("{} = {value}", variable(key)));
    }
    if !is_unset(CONCURRENCY) {
        // The key is set in the file, but the list of functions overrides the file: a variable overrides the list.
        variables.insert(variable(CONCURRENCY), given.delivery.concurrency.to_string());
    }
    if is_unset(KEY) {
        let bytes = [random.bits().to_be_bytes(), random.bits().to_be_bytes()].concat();
        variables.insert(variable(KEY), STANDARD.encode(bytes));
        chosen.push(format!(
            "{} = a key that ends with this stack: secrets of webhooks that still wait then can't be opened again",
            variable(KEY)
        ));
    }
    let settings = read(&variables, file).checked()?;
    Ok(FunctionSettings { variables, settings, chosen })
}

/// Reads the settings, with every mistake in them, for the functions and for the event sources here.
fn read(variables: &BTreeMap<String, String>, file: Option<&Path>) -> Loaded {
    let sources = Sources { file: file.map(Path::to_path_buf), environment: variables };
    let loaded = ::settings::read_function(sources, &[]).on_lambda();
    let (settings, clock): (_, Arc<dyn Clock>) = (loaded.settings(), Arc::new(SystemClock));
    let found = [
        wiring::mistakes(settings),
        wiring::connect_mistakes(settings, &clock),
        beyond_event_sources(&settings.kafka),
    ];
    loaded.with(found.concat())
}

/// The event sources here read a Kafka by its brokers, without sign-in and TLS.
fn beyond_event_sources(kafka: &Kafka) -> Vec<ValidationError> {
    let asked = [
        ("kafka.auth", kafka.auth != KafkaAuth::None),
        ("kafka.tls", kafka.tls),
        ("kafka.cluster_arn", kafka.cluster_arn.is_some()),
    ];
    let problem = "the event sources here read a Kafka by its brokers, without sign-in and TLS; remove it";
    asked.into_iter().filter(|(_, asked)| *asked).map(|(key, _)| ValidationError::of(key, problem)).collect()
}

impl FunctionSettings {
    /// The same with the addresses of Kafka and Redis.
    #[must_use]
    pub fn at(mut self, services: &Services) -> Self {
        self.variables.insert(variable("kafka.brokers"), services.brokers.clone());
        self.variables.insert(variable("redis.addr"), services.redis.clone());
        self.settings.kafka.brokers = services.brokers.split(',').map(|broker| broker.trim().to_owned()).collect();
        self.settings.redis.addr.clone_from(&services.redis);
        self
    }

    /// The configured names of the topics of `infra/topics.json`.
    pub fn topics(&self) -> BTreeMap<String, String> {
        let named = wiring::kafka::topic_specs(&self.settings);
        TopicSpec::all().into_iter().zip(named).map(|(listed, named)| (listed.name, named.name)).collect()
    }

    /// The addresses of Kafka's brokers.
    pub fn brokers(&self) -> Vec<String> {
        self.settings.kafka.brokers.clone()
    }

    /// Creates the topics that are missing, and checks those that exist.
    ///
    /// # Errors
    /// When Kafka doesn't create one, or one is set up wrongly.
    pub async fn create_topics(&self) -> anyhow::Result<()> {
        let config = wiring::kafka::config(&self.settings, Arc::new(SystemClock)).await?;
        Ok(wiring::kafka::ensure_topics(&config, &self.settings).await?)
    }
}

/// The variable of a key.
fn variable(key: &str) -> String {
    format!("HOWK_{}", key.replace('.', "_").to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sevens;

    impl Random for Sevens {
        fn bits(&self) -> u128 {
            7
        }
    }

    fn services() -> Services {
        Services { brokers: "127.0.0.1:1,127.0.0.1:2".to_owned(), redis: "127.0.0.1:3".to_owned(), are_ours: false }
    }

    fn resolved(variables: &[(&str, &str)]) -> FunctionSettings {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        resolve(&variables, None, &Sevens).unwrap().at(&services())
    }

    #[test]
    fn keys_that_are_not_set_get_values_for_one_machine() {
        let resolved = resolved(&[("PATH", "/bin"), ("RUST_LOG", "debug")]);
        assert!(resolved.settings.delivery.allow_private_addresses && resolved.settings.redis.cluster);
        assert!(resolved.settings.secrets.key.is_some());
        assert_eq!(resolved.brokers(), ["127.0.0.1:1", "127.0.0.1:2"]);
        assert_eq!(resolved.chosen.len(), 4, "{:?}", resolved.chosen);
        assert!(
            !resolved.chosen.join(" ").contains(&resolved.variables["HOWK_SECRETS_KEY"]),
            "the key is not printed"
        );
        assert!(!resolved.variables.contains_key("PATH") && resolved.variables["RUST_LOG"] == "debug");
    }

    #[test]
    fn keys_that_are_set_stay() {
        let key = "0123456789abcdef0123456789abcdef";
        let resolved = resolved(&[
            ("HOWK_SECRETS_KEY", key),
            ("HOWK_REDIS_CLUSTER", "false"),
            ("HOWK_KAFKA_TOPICS_PENDING", "eu.pending"),
        ]);
        assert_eq!(resolved.variables["HOWK_SECRETS_KEY"], key);
        assert!(!resolved.settings.redis.cluster);
        assert!(
            !resolved.variables.contains_key("HOWK_DELIVERY_CONCURRENCY"),
            "no setting sets it: the list of functions does"
        );
        assert_eq!(resolved.topics()["howk.pending"], "eu.pending");
        assert_eq!(resolved.topics()["howk.slow"], "howk.slow");
    }

    #[test]
    fn every_mistake_is_reported_before_anything_starts() {
        let variables = [
            ("HOWK_RETRY_BASE_DELAY", "soon"),
            ("HOWK_KAFKA_AUTH", "iam"),
            ("HOWK_REDIS_TLS", "true"),
            ("HOWK_REDIS_CA_FILE", "/nowhere/ca.pem"),
            ("HOWK_API_MAX_REQUEST_SIZE", "5000000"),
        ];
        let variables = BTreeMap::from(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let errors = resolve(&variables, None, &Sevens).unwrap_err().to_string();
        for part in ["retry.base_delay (", "kafka.auth (", "redis.ca_file (", "api.max_request_size ("] {
            assert!(errors.contains(part), "{part}: {errors}");
        }
    }
}
