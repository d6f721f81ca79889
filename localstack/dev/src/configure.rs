//! The settings of this server: what the command line says counts as a variable, and receivers on this machine are
//! allowed where nobody said otherwise.

use std::collections::BTreeMap;

use settings::{Loaded, Origin, Settings, SettingsErrors, Sources};

use crate::cli::Cli;
use crate::demo;

const PRIVATE: (&str, &str) = ("delivery.allow_private_addresses", "HOWK_DELIVERY_ALLOW_PRIVATE_ADDRESSES");
const CLUSTER_ARN: &str = "HOWK_KAFKA_CLUSTER_ARN";

/// Reads the settings for a command line.
///
/// # Errors
/// Every mistake in them.
pub fn read(cli: &Cli, environment: BTreeMap<String, String>) -> Result<Settings, SettingsErrors> {
    let mut variables = environment;
    if !cli.kafka.is_empty() {
        // Of the two ways to name a cluster the command line has said its own.
        variables.remove(CLUSTER_ARN);
    }
    variables.extend(said_by(cli));
    let settings = load(cli, &variables).checked()?;
    let unsaid =
        |key: &str| settings.effective().iter().any(|read| read.key == key && read.origin == Origin::Default);
    let settings = if unsaid(PRIVATE.0) {
        variables.insert(PRIVATE.1.to_owned(), "true".to_owned());
        load(cli, &variables).checked()?
    } else {
        settings
    };
    Ok(if cli.demo { demo::settings(settings) } else { settings })
}

fn load(cli: &Cli, variables: &BTreeMap<String, String>) -> Loaded {
    let loaded = settings::read_function(Sources { file: cli.config.clone(), environment: variables }, &[]);
    let found = if cli.redis.is_some() { mistakes(loaded.settings()) } else { Vec::new() };
    loaded.with(found)
}

/// The variables that the command line stands for.
fn said_by(cli: &Cli) -> BTreeMap<String, String> {
    let mut said = BTreeMap::new();
    let mut say = |name: &str, value: String| said.insert(name.to_owned(), value);
    match cli.kafka.as_slice() {
        [] => {}
        [arn] if arn.starts_with("arn:") => drop(say(CLUSTER_ARN, arn.clone())),
        brokers => drop(say("HOWK_KAFKA_BROKERS", brokers.join(","))),
    }
    if let Some(redis) = &cli.redis {
        say("HOWK_REDIS_ADDR", redis.clone());
        say("HOWK_REDIS_CLUSTER", true.to_string());
    }
    let free = cli.demo.then_some(0);
    if let Some(port) = cli.port.or(free) {
        say("HOWK_API_PORT", port.to_string());
    }
    said
}

#[cfg(feature = "services")]
fn mistakes(settings: &Settings) -> Vec<settings::ValidationError> {
    crate::services::mistakes(settings)
}

#[cfg(not(feature = "services"))]
const fn mistakes(_settings: &Settings) -> Vec<settings::ValidationError> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn read(arguments: &[&str], variables: &[(&str, &str)]) -> Result<Settings, SettingsErrors> {
        let cli = Cli::parse_from([&["howk-dev"], arguments].concat());
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        super::read(&cli, variables.iter().map(own).collect())
    }

    #[test]
    fn receivers_on_this_machine_are_allowed_unless_somebody_says_otherwise() {
        assert!(read(&[], &[]).unwrap().delivery.allow_private_addresses);
        assert!(!read(&[], &[(PRIVATE.1, "false")]).unwrap().delivery.allow_private_addresses);
        assert!(read(&[], &[(PRIVATE.1, "true")]).unwrap().delivery.allow_private_addresses);
    }

    #[test]
    fn the_command_line_wins_and_is_checked_and_shown_as_all_else_is() {
        let settings = read(&["--port", "0"], &[("HOWK_API_PORT", "81")]).unwrap();
        assert_eq!(settings.api.port, 0);
        let shown: Vec<String> = settings.effective().iter().map(ToString::to_string).collect();
        assert!(shown.iter().any(|line| line.starts_with("api.port = 0")), "{shown:?}");
        let mistakes = read(&["--kafka", "nowhere", "--redis", "127.0.0.1:6379"], &[]).unwrap_err().to_string();
        assert!(mistakes.contains("HOWK_KAFKA_BROKERS"), "{mistakes}");
    }

    #[cfg(feature = "services")]
    #[test]
    fn without_a_key_for_secrets_it_does_not_work_on_kafka_and_redis() {
        let services = ["--kafka", "127.0.0.1:9092", "--redis", "127.0.0.1:6379"];
        let mistakes = read(&services, &[]).unwrap_err().to_string();
        assert!(mistakes.contains("secrets.key"), "{mistakes}");
        assert!(read(&services, &[("HOWK_SECRETS_KEY", &"k".repeat(32))]).is_ok());
    }
}
