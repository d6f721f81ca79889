//! The topics: `infra/topics.json`, which everything that makes or checks topics reads, and their names here.

use std::collections::BTreeMap;

use domain::Topic;
use serde::Deserialize;

/// What a topic must be like.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopicSpec {
    /// Its name.
    pub name: String,
    /// Its partitions; at least 1. More may be added later, at the price of the order of keys.
    pub partitions: u32,
    /// Its settings, by Kafka's names.
    pub config: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TopicList {
    topics: Vec<TopicSpec>,
}

impl TopicSpec {
    /// Every topic of `infra/topics.json`, as it stood when this was built.
    ///
    /// # Panics
    /// Never: the file is compiled in, and a test reads it.
    pub fn all() -> Vec<Self> {
        let text = include_str!("../../../infra/topics.json");
        #[expect(clippy::expect_used, reason = "the file is compiled in, and a test reads it")]
        let list: TopicList = serde_json::from_str(text).expect("a list of topics");
        list.topics
    }
}

/// What the topics are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicNames {
    /// Webhooks for the fast lane.
    pub pending: String,
    /// Webhooks for the slow lane.
    pub slow: String,
    /// Finished attempts.
    pub results: String,
    /// Webhooks that were given up.
    pub deadletter: String,
    /// What waits.
    pub state: String,
}

impl Default for TopicNames {
    fn default() -> Self {
        Self::prefixed("")
    }
}

impl TopicNames {
    /// Every topic under the name that `name` gives it.
    pub fn new(name: impl Fn(Topic) -> String) -> Self {
        Self {
            pending: name(Topic::Pending),
            slow: name(Topic::Slow),
            results: name(Topic::Results),
            deadletter: name(Topic::DeadLetter),
            state: name(Topic::State),
        }
    }

    /// The default names with a prefix, for systems that share a cluster.
    pub fn prefixed(prefix: &str) -> Self {
        Self::new(|topic| format!("{prefix}{}", topic.name()))
    }

    /// The name of a topic of the log.
    pub fn of(&self, topic: Topic) -> &str {
        match topic {
            Topic::Pending => &self.pending,
            Topic::Slow => &self.slow,
            Topic::Results => &self.results,
            Topic::DeadLetter => &self.deadletter,
            Topic::State => &self.state,
        }
    }

    /// Every topic of `infra/topics.json` under its name here.
    pub fn specs(&self) -> Vec<TopicSpec> {
        let mut specs = TopicSpec::all();
        for spec in &mut specs {
            if let Some(topic) = Topic::ALL.into_iter().find(|topic| topic.name() == spec.name) {
                self.of(topic).clone_into(&mut spec.name);
            }
        }
        specs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_lists_every_topic_once() {
        let listed: Vec<_> = TopicSpec::all().into_iter().map(|spec| spec.name).collect();
        let known: Vec<_> = Topic::ALL.iter().map(|topic| topic.name().to_owned()).collect();
        assert_eq!(listed, known);
    }

    #[test]
    fn only_state_is_compacted() {
        for spec in TopicSpec::all() {
            let compacted = spec.name == Topic::State.name();
            let policy = spec.config.get("cleanup.policy").map(String::as_str);
            assert_eq!(policy, Some(if compacted { "compact" } else { "delete" }), "{}", spec.name);
            assert!((1..=120).contains(&spec.partitions), "{}", spec.name);
        }
    }

    /// A record that cannot be read is kept in base64, a third longer.
    #[test]
    fn a_dead_letter_has_room_for_the_largest_record_of_any_topic() {
        let room = |spec: &TopicSpec| -> u64 { spec.config["max.message.bytes"].parse().unwrap() };
        let dead_letters = TopicSpec::all().into_iter().find(|spec| spec.name == Topic::DeadLetter.name()).unwrap();
        for spec in TopicSpec::all().iter().filter(|spec| spec.name != dead_letters.name) {
            assert!(room(&dead_letters) > room(spec) * 4 / 3 + 65_536, "{}", spec.name);
        }
    }

    #[test]
    fn specs_carry_the_names_here() {
        let names = TopicNames::prefixed("eu.");
        let specs: Vec<_> = names.specs().into_iter().map(|spec| spec.name).collect();
        assert_eq!(
            specs,
            ["eu.howk.pending", "eu.howk.slow", "eu.howk.results", "eu.howk.deadletter", "eu.howk.state"]
        );
    }
}
