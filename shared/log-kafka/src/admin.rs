//! Making and checking topics, by `infra/topics.json`.
//!
//! With [`Auth::Tokens`](crate::Auth::Tokens) the client library's admin client cannot sign in: there the deployment
//! makes the topics.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use delivery::{Fault, FaultKind};
use domain::Topic;
use rdkafka::admin::{
    AdminClient, AdminOptions, ConfigResource, NewTopic, OwnedResourceSpecifier, ResourceSpecifier, TopicReplication,
};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

use crate::client::{self, Reports};
use crate::config::{Auth, KafkaConfig};
use crate::fault;
use crate::query::{Queries, number};
use crate::topics::TopicSpec;

/// The setting that decides whether old records are deleted or compacted. MSK Serverless takes it only when a topic is made.
const CLEANUP: &str = "cleanup.policy";
/// The setting that bounds a batch.
const RECORD_BYTES: &str = "max.message.bytes";
/// The pause between two queries whether a new topic is known. A broker takes some ten milliseconds.
const PAUSE: Duration = Duration::from_millis(20);
/// As many replicas as the brokers' default says.
const REPLICAS_BY_DEFAULT: i32 = -1;

/// Makes the topics that are missing, and waits until their partitions are known. Those that exist are left as they are.
///
/// # Errors
/// A [`Fault`] when one cannot be made; the others may have been. Calling it again is safe.
pub async fn create_topics(config: &KafkaConfig, specs: &[TopicSpec]) -> Result<(), Fault> {
    let admin = admin(config)?;
    let topics: Vec<_> = specs.iter().map(new_topic).collect();
    let answers = admin.create_topics(&topics, &options(config)).await;
    client::drop_aside(admin);
    for answer in answers.map_err(|error| fault::of("the topics were not made", error))? {
        match answer {
            Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
            Err((name, code)) => {
                return Err(fault::of(format!("topic {name} was not made"), KafkaError::AdminOp(code)));
            }
        }
    }
    wait_until_known(config, specs).await
}

/// Checks that every topic exists, has the cleanup policy that howk relies on, and takes records as large as it must.
///
/// # Errors
/// A permanent [`Fault`] that lists every mistake, another kind when Kafka does not answer.
pub async fn verify_topics(config: &KafkaConfig, specs: &[TopicSpec]) -> Result<(), Fault> {
    let admin = admin(config)?;
    let asked: Vec<_> = specs.iter().map(|spec| ResourceSpecifier::Topic(&spec.name)).collect();
    let answers = admin.describe_configs(&asked, &options(config)).await;
    client::drop_aside(admin);
    let answers = answers.map_err(|error| fault::of("the topics could not be checked", error))?;
    let found: Vec<_> = answers.into_iter().filter_map(Result::ok).collect();
    let mut mistakes = Vec::new();
    for spec in specs {
        let settings = found.iter().find(|found| is_of(found, &spec.name)).map(settings_of).unwrap_or_default();
        mistakes.extend(mistakes_of(spec, &settings));
    }
    if mistakes.is_empty() { Ok(()) } else { Err(Fault::new(FaultKind::Permanent, mistakes.join("; "))) }
}

/// Deletes topics with everything in them. Those that do not exist are passed over.
///
/// # Errors
/// A [`Fault`] when one cannot be deleted; the others may have been.
pub async fn delete_topics(config: &KafkaConfig, specs: &[TopicSpec]) -> Result<(), Fault> {
    let admin = admin(config)?;
    let names: Vec<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let answers = admin.delete_topics(&names, &options(config)).await;
    client::drop_aside(admin);
    for answer in answers.map_err(|error| fault::of("the topics were not deleted", error))? {
        match answer {
            Ok(_) | Err((_, RDKafkaErrorCode::UnknownTopicOrPartition)) => {}
            Err((name, code)) => {
                return Err(fault::of(format!("topic {name} was not deleted"), KafkaError::AdminOp(code)));
            }
        }
    }
    Ok(())
}

fn admin(config: &KafkaConfig) -> Result<AdminClient<Reports>, Fault> {
    if matches!(config.security.auth, Auth::Tokens(_)) {
        let context = "with tokens the client cannot make, check or delete topics: let the deployment do it";
        return Err(Fault::new(FaultKind::Permanent, context));
    }
    let built = client::admin(config).create_with_context(Reports::new(config));
    built.map_err(|error| fault::of("the Kafka admin client was not built", error))
}

fn options(config: &KafkaConfig) -> AdminOptions {
    AdminOptions::new().request_timeout(Some(config.request_timeout)).operation_timeout(Some(config.request_timeout))
}

fn new_topic(spec: &TopicSpec) -> NewTopic<'_> {
    let topic = NewTopic::new(&spec.name, number(spec.partitions), TopicReplication::Fixed(REPLICAS_BY_DEFAULT));
    spec.config.iter().fold(topic, |topic, (name, value)| topic.set(name, value))
}

/// A topic that was made a moment ago is not known to every broker at once.
async fn wait_until_known(config: &KafkaConfig, specs: &[TopicSpec]) -> Result<(), Fault> {
    let queries = Arc::new(Queries::new(Arc::new(config.clone()), Topic::Pending));
    let known = async {
        for spec in specs {
            while !is_known(&queries, spec.name.clone()).await {
                tokio::time::sleep(PAUSE).await;
            }
        }
    };
    let bounded = tokio::time::timeout(config.request_timeout, known).await;
    bounded.map_err(|error| Fault::caused(FaultKind::Transient, "the new topics are not known yet", error))
}

async fn is_known(queries: &Arc<Queries>, topic: String) -> bool {
    queries.query(move |client| client.extents(&topic)).await.is_ok_and(|extents| !extents.is_empty())
}

fn is_of(found: &ConfigResource, name: &str) -> bool {
    matches!(&found.specifier, OwnedResourceSpecifier::Topic(topic) if topic == name)
}

fn settings_of(found: &ConfigResource) -> BTreeMap<&str, &str> {
    let settings = found.entries.iter();
    settings.filter_map(|entry| Some((entry.name.as_str(), entry.value.as_deref()?))).collect()
}

/// What is wrong with a topic. What an operator may tune, such as its retention, is not.
fn mistakes_of(spec: &TopicSpec, found: &BTreeMap<&str, &str>) -> Vec<String> {
    if found.is_empty() {
        // The client does not pass the reason on.
        return vec![format!("{} does not exist, or its settings may not be read", spec.name)];
    }
    let mut mistakes = Vec::new();
    let setting = |name: &str| (spec.config.get(name).map(String::as_str), found.get(name).copied());
    if let (Some(wanted), Some(is)) = setting(CLEANUP)
        && wanted != is
    {
        mistakes.push(format!("{} has {CLEANUP}={is}, but howk relies on {CLEANUP}={wanted}", spec.name));
    }
    if let (Some(wanted), Some(is)) = setting(RECORD_BYTES)
        && is.parse::<u64>().ok() < wanted.parse::<u64>().ok()
    {
        mistakes.push(format!("{} has {RECORD_BYTES}={is}, but records may have {wanted} bytes", spec.name));
    }
    mistakes
}
