//! The settings of a command: an option counts as the variable of its setting, and receivers on this machine are allowed
//! unless the settings refuse them.

use std::collections::BTreeMap;

use settings::{Loaded, Origin, Settings, SettingsErrors, Sources};

use crate::cli::{Command, Serve};
use crate::demo;

/// The key that allows receivers at private addresses, and its variable.
const PRIVATE: (&str, &str) = ("delivery.allow_private_addresses", "HOWK_DELIVERY_ALLOW_PRIVATE_ADDRESSES");
const CLUSTER_ARN: &str = "HOWK_KAFKA_CLUSTER_ARN";

/// Reads the settings for a command.
///
/// # Errors
/// Every mistake in them.
pub fn read(command: &Command, environment: BTreeMap<String, String>) -> Result<Settings, SettingsErrors> {
    let mut variables = environment;
    match command {
        Command::Serve(serve) => {
            if !serve.kafka.is_empty() {
                // --kafka replaces both settings that can name a cluster.
                variables.remove(CLUSTER_ARN);
            }
            variables.extend(variables_of(serve));
        }
        Command::Demo(demo) => {
            variables.insert("HOWK_API_PORT".to_owned(), demo.port.to_string());
        }
    }
    let settings = load(command, &variables).checked()?;
    let is_default =
        |key: &str| settings.effective().iter().any(|read| read.key == key && read.origin == Origin::Default);
    let settings = if is_default(PRIVATE.0) {
        variables.insert(PRIVATE.1.to_owned(), "true".to_owned());
        load(command, &variables).checked()?
    } else {
        settings
    };
    Ok(if let Command::Demo(_) = command { demo::settings(settings) } else { settings })
}

fn load(command: &Command, variables: &BTreeMap<String, String>) -> Loaded {
    let sources = Sources { file: command.common().config.clone(), environment: variables };
    let loaded = settings::read_function(sources, &[]);
    let found = match command {
        Command::Serve(Serve { redis: Some(_), .. }) => server::services::mistakes(loaded.settings()),
        Command::Serve(_) | Command::Demo(_) => Vec::new(),
    };
    loaded.with(found)
}

/// The variables that the options stand for.
fn variables_of(serve: &Serve) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    let mut set = |name: &str, value: String| variables.insert(name.to_owned(), value);
    match serve.kafka.as_slice() {
        [] => {}
        [arn] if arn.starts_with("arn:") => drop(set(CLUSTER_ARN, arn.clone())),
        brokers => drop(set("HOWK_KAFKA_BROKERS", brokers.join(","))),
    }
    if let Some(redis) = &serve.redis {
        set("HOWK_REDIS_ADDR", redis.clone());
        set("HOWK_REDIS_CLUSTER", true.to_string());
    }
    if let Some(port) = serve.port {
        set("HOWK_API_PORT", port.to_string());
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;

    fn read(arguments: &[&str], variables: &[(&str, &str)]) -> Result<Settings, SettingsErrors> {
        let cli = Cli::parse_from([&["howk"], arguments].concat());
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        super::read(&cli.command, variables.iter().map(own).collect())
    }

    #[test]
    fn receivers_on_this_machine_are_allowed_unless_the_settings_refuse_them() {
        assert!(read(&["serve"], &[]).unwrap().delivery.allow_private_addresses);
        assert!(!read(&["serve"], &[(PRIVATE.1, "false")]).unwrap().delivery.allow_private_addresses);
        assert!(read(&["serve"], &[(PRIVATE.1, "true")]).unwrap().delivery.allow_private_addresses);
        assert!(read(&["demo"], &[]).unwrap().delivery.allow_private_addresses);
    }

    #[test]
    fn an_option_wins_and_is_checked_and_shown_as_a_variable_is() {
        let settings = read(&["serve", "--port", "0"], &[("HOWK_API_PORT", "81")]).unwrap();
        assert_eq!(settings.api.port, 0);
        let shown: Vec<String> = settings.effective().iter().map(ToString::to_string).collect();
        assert!(shown.iter().any(|line| line.starts_with("api.port = 0")), "{shown:?}");
        let mistakes =
            read(&["serve", "--kafka", "nowhere", "--redis", "127.0.0.1:6379"], &[]).unwrap_err().to_string();
        assert!(mistakes.contains("HOWK_KAFKA_BROKERS"), "{mistakes}");
    }

    #[test]
    fn memory_is_the_default_and_excludes_services() {
        assert_eq!(read(&["serve", "--in-memory"], &[]), read(&["serve"], &[]));
        let both = ["howk", "serve", "--in-memory", "--kafka", "127.0.0.1:9092", "--redis", "127.0.0.1:6379"];
        assert!(Cli::try_parse_from(both).is_err());
        assert!(Cli::try_parse_from(["howk", "serve", "--kafka", "127.0.0.1:9092"]).is_err(), "it needs --redis");
    }

    #[test]
    fn the_demo_takes_a_free_port_unless_it_is_given_one() {
        assert_eq!(read(&["demo"], &[("HOWK_API_PORT", "81")]).unwrap().api.port, 0);
        assert_eq!(read(&["demo", "--port", "82"], &[]).unwrap().api.port, 82);
    }

    #[cfg(feature = "services")]
    #[test]
    fn without_a_key_for_secrets_it_does_not_run_on_kafka_and_redis() {
        let services = ["serve", "--kafka", "127.0.0.1:9092", "--redis", "127.0.0.1:6379"];
        let mistakes = read(&services, &[]).unwrap_err().to_string();
        assert!(mistakes.contains("secrets.key"), "{mistakes}");
        assert!(read(&services, &[("HOWK_SECRETS_KEY", &"k".repeat(32))]).is_ok());
    }
}
