//! Settings of the Kafka client.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::{Secret, Topic};

use crate::kinds::{Kind, Named, Rule, days, flag, hours, list, mins, ms, one_of, optional, secret, secs, span};
use crate::kinds::{text, whole, written};
use crate::reader::Reader;

section! {
    /// Kafka: where it is and how to sign in.
    "kafka." Kafka {
        /// The brokers to start from, as host:port.
        brokers: Vec<String> = list(text(Rule::HOST_PORT)).or(vec!["localhost:9092".to_owned()]);
        /// The MSK cluster whose brokers are used, in place of `kafka.brokers`: howk asks AWS for them at its start.
        cluster_arn: Option<String> = optional(text(CLUSTER_ARN)).or(None);
        /// How to sign in: not at all, with the role of the AWS identity, or with a user name and password.
        auth: KafkaAuth = one_of().or(KafkaAuth::None);
        /// User name for scram.
        username: Option<String> = optional(text(Rule::ANY)).or(None);
        /// Password for scram.
        password: Option<Secret> = optional(secret(1)).or(None);
        /// Whether connections are encrypted; with iam they always are.
        tls: bool = flag().or(false);
        /// A file of CA certificates (PEM) to trust in place of the system's; needs TLS.
        ca_file: Option<String> = optional(text(Rule::ANY)).or(None);
        /// How long topics keep their records; used when topics are made, never to change existing ones.
        retention: Duration = span(mins(1)..=days(3650)).or(hours(168));
        /// How many webhooks of one config id run at once in one process; 0 means 1.
        per_key_parallelism: u32 = whole(0..=1_000).or(0);
    }
    nested {
        /// The topics.
        topics: Topics;
        /// Reading.
        consumer: KafkaConsumer;
        /// Writing.
        producer: KafkaProducer;
        /// Membership of a consumer group.
        group: KafkaGroup;
    }
}

section! {
    /// The names of the topics.
    "kafka.topics." Topics {
        /// Webhooks for the fast lane.
        pending: String = text(TOPIC).or(Topic::Pending.name().to_owned());
        /// Webhooks for the slow lane.
        slow: String = text(TOPIC).or(Topic::Slow.name().to_owned());
        /// One record for each finished attempt.
        results: String = text(TOPIC).or(Topic::Results.name().to_owned());
        /// Dead letters: webhooks that failed for good, with the reason.
        deadletter: String = text(TOPIC).or(Topic::DeadLetter.name().to_owned());
        /// State of every webhook that waits or is held; compacted.
        state: String = text(TOPIC).or(Topic::State.name().to_owned());
    }
}

section! {
    /// How records are fetched.
    "kafka.consumer_" KafkaConsumer {
        /// The consumer group of the fast lane; the slow lane's is this with -slow behind it.
        group: String = text(TOPIC).or("howk-workers".to_owned());
        /// How many bytes a fetch waits for.
        fetch_min_bytes: u32 = whole(1..=104_857_600).or(1);
        /// How long a fetch waits for them.
        fetch_max_wait: Duration = span(ms(1)..=secs(60)).or(ms(100));
    }
}

section! {
    /// How a member of a consumer group shows that it is alive.
    "kafka.group_" KafkaGroup {
        /// After this long without a heartbeat a member counts as dead.
        session_timeout: Duration = span(secs(1)..=mins(30)).or(secs(10));
        /// How often a heartbeat is sent; shorter than the session timeout.
        heartbeat_interval: Duration = span(ms(100)..=mins(10)).or(secs(3));
        /// How long members have to join when the group changes.
        rebalance_timeout: Duration = span(secs(1)..=mins(30)).or(secs(10));
    }
}

section! {
    /// How records are batched.
    "kafka.producer_" KafkaProducer {
        /// The largest batch for one partition, in bytes.
        batch_size: u32 = whole(1..=104_857_600).or(1_000_000);
        /// How many milliseconds a batch may wait for more records.
        linger_ms: u32 = whole(0..=5_000).or(1);
        /// The codec of batches.
        compression: Compression = one_of().or(Compression::Lz4);
    }
}

impl Kafka {
    pub(crate) fn check(&self, reader: &mut Reader) {
        if self.cluster_arn.is_some() && reader.is_set("kafka.brokers") {
            let keys = ["kafka.cluster_arn", "kafka.brokers"];
            reader.conflict(
                &keys,
                "excludes kafka.brokers, since AWS is asked for the cluster's brokers; remove one of them",
            );
        }
        if self.brokers.is_empty() {
            reader.conflict(&["kafka.brokers"], "names no broker; set it to at least one host:port");
        }
        if self.auth == KafkaAuth::Scram && (self.username.is_none() || self.password.is_none()) {
            let keys = ["kafka.auth", "kafka.username", "kafka.password"];
            reader.conflict(&keys, "scram needs kafka.username and kafka.password; set both");
        }
        if self.ca_file.is_some() && !self.tls && self.auth != KafkaAuth::Iam {
            reader.conflict(&["kafka.ca_file", "kafka.tls"], "needs kafka.tls: true; set it, or remove the file");
        }
        if self.group.heartbeat_interval >= self.group.session_timeout {
            let keys = ["kafka.group_heartbeat_interval", "kafka.group_session_timeout"];
            let (heartbeat, session) = (written(self.group.heartbeat_interval), written(self.group.session_timeout));
            let problem =
                format!("{heartbeat} must be shorter than kafka.group_session_timeout, {session}; lower it");
            reader.conflict(&keys, problem);
        }
        self.topics.check(reader);
    }
}

impl Topics {
    /// The name of a topic of the log.
    pub fn of(&self, topic: Topic) -> &str {
        self.keyed(topic).1
    }

    fn keyed(&self, topic: Topic) -> (&'static str, &str) {
        match topic {
            Topic::Pending => ("kafka.topics.pending", &self.pending),
            Topic::Slow => ("kafka.topics.slow", &self.slow),
            Topic::Results => ("kafka.topics.results", &self.results),
            Topic::DeadLetter => ("kafka.topics.deadletter", &self.deadletter),
            Topic::State => ("kafka.topics.state", &self.state),
        }
    }

    fn check(&self, reader: &mut Reader) {
        let mut seen = BTreeSet::new();
        for (key, name) in Topic::ALL.map(|topic| self.keyed(topic)) {
            if !seen.insert(name) {
                reader.conflict(&[key], format!("{name} is already the name of another topic; name another one"));
            }
        }
    }
}

/// How to sign in to Kafka.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KafkaAuth {
    /// Not at all.
    None,
    /// With the role of the AWS identity.
    Iam,
    /// SASL/SCRAM, with [`Kafka::username`] and [`Kafka::password`].
    Scram,
}

impl Named for KafkaAuth {
    const NAMES: &'static [(&'static str, Self)] =
        &[("none", Self::None), ("iam", Self::Iam), ("scram", Self::Scram)];
}

/// The codec of batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// LZ4.
    Lz4,
    /// Zstandard.
    Zstd,
    /// Snappy.
    Snappy,
    /// Gzip.
    Gzip,
    /// No compression.
    None,
}

impl Named for Compression {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("lz4", Self::Lz4),
        ("zstd", Self::Zstd),
        ("snappy", Self::Snappy),
        ("gzip", Self::Gzip),
        ("none", Self::None),
    ];
}

impl Compression {
    /// The codec's name, as settings and Kafka clients spell it.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, codec)| *codec == self).map_or("none", |(name, _)| *name)
    }
}

const CLUSTER_ARN: Rule = Rule {
    allowed: "the ARN of an MSK cluster, such as arn:aws:kafka:eu-west-1:123456789012:cluster/howk/ID",
    holds: |text| {
        text.starts_with("arn:") && text.contains(":kafka:") && text.contains(":cluster/") && text.is_ascii()
    },
};

const TOPIC: Rule = Rule {
    allowed: "1 to 249 letters, digits, dots, dashes or underscores",
    holds: |text| {
        (1..=249).contains(&text.len())
            && !matches!(text, "." | "..")
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    },
};
