//! What the functions are told: `HOWK_*` variables and the file, as they are, and what suits one machine where nobody said
//! otherwise.

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

/// Variables that are handed on beside howk's own.
const HANDED_ON: [&str; 4] = ["AWS_LAMBDA_LOG_FORMAT", "AWS_LAMBDA_LOG_LEVEL", "RUST_BACKTRACE", "RUST_LOG"];
/// What suits one machine: receivers on it, a Redis in cluster mode, and callers without keys.
const LOCAL: [(&str, &str); 3] =
    [("delivery.allow_private_addresses", "true"), ("redis.cluster", "true"), ("api.auth", "none")];
const KEY: &str = "secrets.key";
/// What the list of functions says too.
const CONCURRENCY: &str = "delivery.concurrency";

/// What the functions are told, and what that means.
#[derive(Debug)]
pub struct Told {
    /// The variables that every function gets.
    pub variables: BTreeMap<String, String>,
    /// What they read from them.
    pub settings: Settings,
    /// What was chosen here, for people.
    pub chosen: Vec<String>,
}

/// Puts the functions' variables together, before it is known where Kafka and Redis are.
///
/// # Errors
/// Every mistake in the settings.
pub fn tell(
    environment: &BTreeMap<String, String>,
    file: Option<&Path>,
    random: &dyn Random,
) -> Result<Told, SettingsErrors> {
    let mut variables: BTreeMap<String, String> = environment
        .iter()
        .filter(|(name, _)| name.starts_with("HOWK_") || HANDED_ON.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if let Some(file) = file {
        // A function runs in a folder of its own choice.
        let path = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
        variables.insert("HOWK_CONFIG".to_owned(), path.display().to_string());
    }
    let said = read(&variables, file).checked()?;
    let unsaid = |key: &str| said.effective().iter().any(|read| read.key == key && read.origin == Origin::Default);
    let mut chosen = Vec::new();
    for (key, value) in LOCAL.into_iter().filter(|(key, _)| unsaid(key)) {
        variables.insert(variable(key), value.to_owned());
        chosen.push(format!("{} = {value}", variable(key)));
    }
    if !unsaid(CONCURRENCY) {
        // Said in the file: of what is listed with the functions, a variable that is there wins.
        variables.insert(variable(CONCURRENCY), said.delivery.concurrency.to_string());
    }
    if unsaid(KEY) {
        let bytes = [random.bits().to_be_bytes(), random.bits().to_be_bytes()].concat();
        variables.insert(variable(KEY), STANDARD.encode(bytes));
        chosen.push(format!(
            "{} = a key for the life of this stack: secrets of webhooks that outlive it can't be opened again",
            variable(KEY)
        ));
    }
    let settings = read(&variables, file).checked()?;
    Ok(Told { variables, settings, chosen })
}

/// The settings, with what is wrong with them for the functions and for the event sources here.
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

impl Told {
    /// The same with Kafka and Redis where they are.
    #[must_use]
    pub fn at(mut self, services: &Services) -> Self {
        self.variables.insert(variable("kafka.brokers"), services.brokers.clone());
        self.variables.insert(variable("redis.addr"), services.redis.clone());
        self.settings.kafka.brokers = services.brokers.split(',').map(|broker| broker.trim().to_owned()).collect();
        self.settings.redis.addr.clone_from(&services.redis);
        self
    }

    /// What the topics of `infra/topics.json` are called.
    pub fn topics(&self) -> BTreeMap<String, String> {
        let named = wiring::kafka::topic_specs(&self.settings);
        TopicSpec::all().into_iter().zip(named).map(|(listed, named)| (listed.name, named.name)).collect()
    }

    /// Kafka's brokers, one by one.
    pub fn brokers(&self) -> Vec<String> {
        self.settings.kafka.brokers.clone()
    }

    /// Makes the topics that are missing.
    ///
    /// # Errors
    /// When Kafka doesn't make them.
    pub async fn make_topics(&self) -> anyhow::Result<()> {
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

    fn told(variables: &[(&str, &str)]) -> Told {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        tell(&variables, None, &Sevens).unwrap().at(&services())
    }

    #[test]
    fn what_nobody_said_suits_one_machine() {
        let told = told(&[("PATH", "/bin"), ("RUST_LOG", "debug")]);
        assert!(told.settings.delivery.allow_private_addresses && told.settings.redis.cluster);
        assert!(told.settings.secrets.key.is_some());
        assert_eq!(told.brokers(), ["127.0.0.1:1", "127.0.0.1:2"]);
        assert_eq!(told.chosen.len(), 4, "{:?}", told.chosen);
        assert!(!told.chosen.join(" ").contains(&told.variables["HOWK_SECRETS_KEY"]), "a key is told to nobody else");
        assert!(!told.variables.contains_key("PATH") && told.variables["RUST_LOG"] == "debug");
    }

    #[test]
    fn what_was_said_stays() {
        let key = "0123456789abcdef0123456789abcdef";
        let told = told(&[
            ("HOWK_SECRETS_KEY", key),
            ("HOWK_REDIS_CLUSTER", "false"),
            ("HOWK_KAFKA_TOPICS_PENDING", "eu.pending"),
        ]);
        assert_eq!(told.variables["HOWK_SECRETS_KEY"], key);
        assert!(!told.settings.redis.cluster);
        assert!(
            !told.variables.contains_key("HOWK_DELIVERY_CONCURRENCY"),
            "nobody said it: the list of functions does"
        );
        assert_eq!(told.topics()["howk.pending"], "eu.pending");
        assert_eq!(told.topics()["howk.slow"], "howk.slow");
    }

    #[test]
    fn every_mistake_is_told_before_anything_starts() {
        let variables = [
            ("HOWK_RETRY_BASE_DELAY", "soon"),
            ("HOWK_KAFKA_AUTH", "iam"),
            ("HOWK_REDIS_TLS", "true"),
            ("HOWK_REDIS_CA_FILE", "/nowhere/ca.pem"),
            ("HOWK_API_MAX_REQUEST_SIZE", "5000000"),
        ];
        let variables = BTreeMap::from(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let told = tell(&variables, None, &Sevens).unwrap_err().to_string();
        for part in ["retry.base_delay (", "kafka.auth (", "redis.ca_file (", "api.max_request_size ("] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
}
