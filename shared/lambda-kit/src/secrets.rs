//! Secrets that a function's variables name by their ARN: they are read from Secrets Manager once, before the settings.
//!
//! So no secret stands in the configuration of a function. Each secret and stage is one request, and all are sent at once;
//! a cold start waits for them. A secret that cannot be read is an error in the settings like any other. Deliberately
//! absent: reading them again later. After a change of a secret the operator restarts the functions.

use std::collections::BTreeMap;
use std::fmt;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use futures::future::{join, join_all};
use serde_json::json;
use settings::{Environment, Secrets};

use crate::secret_store::{SecretArn, SecretStore, Stage};

/// A variable that may be given as an ARN, in a variable of its name with `_ARN` behind it.
struct Variable {
    name: &'static str,
    /// The one for the values that the secret had before.
    previous: Option<&'static str>,
}

const VARIABLES: [Variable; 2] = [
    Variable { name: "HOWK_SECRETS_KEY", previous: Some("HOWK_SECRETS_PREVIOUS_KEYS") },
    Variable { name: "HOWK_API_KEYS", previous: None },
];

/// The variables of a function, with the values of the secrets that they name.
pub struct WithSecrets {
    variables: BTreeMap<String, String>,
    unavailable: BTreeMap<String, String>,
}

/// Values are secret.
impl fmt::Debug for WithSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WithSecrets").field("unavailable", &self.unavailable).finish_non_exhaustive()
    }
}

impl Environment for WithSecrets {
    fn variables(&self) -> BTreeMap<String, String> {
        self.variables.clone()
    }

    fn unavailable(&self) -> BTreeMap<String, String> {
        self.unavailable.clone()
    }
}

impl WithSecrets {
    /// Takes out the variables that name secrets, and reads those with the AWS identity of the process. Makes no request
    /// when there are none.
    pub async fn of(environment: &dyn Environment) -> Self {
        let (mut environment, named) = Self::sorted(environment.variables());
        if let Some((_, arn)) = named.first() {
            let defaults =
                aws_config::defaults(BehaviorVersion::latest()).region(Region::new(arn.region().to_owned()));
            environment.read(&defaults.load().await, named).await;
        }
        environment
    }

    /// The same with these AWS settings, but each secret in the region that its ARN names.
    pub async fn by(aws: &SdkConfig, environment: &dyn Environment) -> Self {
        let (mut environment, named) = Self::sorted(environment.variables());
        environment.read(aws, named).await;
        environment
    }

    fn sorted(mut variables: BTreeMap<String, String>) -> (Self, Vec<(Variable, SecretArn)>) {
        let (mut unavailable, mut named) = (BTreeMap::new(), Vec::new());
        for variable in VARIABLES {
            let (name, by_arn) = (variable.name, format!("{}_ARN", variable.name));
            let Some(arn) = variables.remove(&by_arn).filter(|arn| !arn.is_empty()) else { continue };
            let is_set = |name: &str| variables.get(name).is_some_and(|text| !text.is_empty());
            let read = if is_set(name) {
                Err(format!("{by_arn} is set too: set one of them"))
            } else {
                SecretArn::parse(&arn).map_err(|problem| format!("{by_arn} is {problem}"))
            };
            match read {
                Ok(arn) => {
                    // A deployment that names previous keys itself names all of them.
                    let previous = variable.previous.filter(|previous| !is_set(previous));
                    named.push((Variable { previous, ..variable }, arn));
                }
                Err(problem) => drop(unavailable.insert(name.to_owned(), problem)),
            }
        }
        (Self { variables, unavailable }, named)
    }

    async fn read(&mut self, aws: &SdkConfig, named: Vec<(Variable, SecretArn)>) {
        let requests = named.into_iter().map(|(variable, arn)| async move {
            let store = SecretStore::new(aws, &arn);
            let previous = async {
                match variable.previous {
                    Some(_) => store.value(&arn, Stage::Previous).await,
                    None => Ok(None),
                }
            };
            let both = join(store.value(&arn, Stage::Current), previous).await;
            let name = variable.name;
            let explained = |problem| format!("{name}_ARN names {arn}, and {problem}");
            (variable, both.0.map_err(explained), both.1.map_err(explained))
        });
        for (variable, current, previous) in join_all(requests).await {
            let is_known = current.is_ok();
            self.keep(variable.name, current);
            // One problem is enough: the cause that keeps the current value unread keeps the previous one unread too.
            if let Some(name) = variable.previous.filter(|_| is_known) {
                self.keep(name, previous.map(|value| value.as_deref().and_then(key_list)));
            }
        }
    }

    fn keep(&mut self, name: &str, value: Result<Option<String>, String>) {
        match value {
            Ok(Some(value)) => drop(self.variables.insert(name.to_owned(), value)),
            Ok(None) => {}
            Err(problem) => drop(self.unavailable.insert(name.to_owned(), problem)),
        }
    }
}

/// A list of the one key, as a variable holds it. A key that is too short has sealed nothing, since settings refuse it: it
/// was written by mistake, and replaced.
fn key_list(key: &str) -> Option<String> {
    (key.chars().count() >= Secrets::KEY_CHARS_MIN).then(|| json!([key]).to_string())
}
