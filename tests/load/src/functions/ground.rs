//! The back end of the measurements: Kafka with topics of the run's own, a Redis of its own, binaries, and stacks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use clock_system::{SystemClock, SystemRandom};
use howk_local::lambda::{Lambda, LambdaConfig, Output, Program};
use howk_local::local::binaries::Places;
use howk_local::spec::StackSpec;
use howk_local::stack::{Stack, StackConfig};
use log_kafka::{KafkaConfig, TopicNames, TopicSpec, create_topics};

use crate::cli::FunctionsOptions;
use crate::services::Services;

/// How long any wait may take. Generous: it only ends a run that has failed.
pub(super) const TIMEOUT: Duration = Duration::from_mins(2);
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(20);
/// One invocation of the lane at a time, as there is one partition to read.
const PARTITIONS: u32 = 1;

/// The services and the binaries of a run.
#[derive(Debug)]
pub(super) struct Ground {
    services: Services,
    binaries: BTreeMap<String, PathBuf>,
}

impl Ground {
    /// Finds the binaries and the services, and creates the topics.
    ///
    /// # Errors
    /// When something is missing, or Redis holds any key: it is flushed at the end, so it must belong to this run alone.
    pub(super) async fn open(options: &FunctionsOptions) -> anyhow::Result<Self> {
        let place = match &options.functions {
            Some(folder) => Places::Named(folder.clone()),
            None => Places::around(std::env::current_exe().ok().as_deref()),
        };
        let spec = StackSpec::howk()?;
        let binaries = place.find(spec.functions.iter().map(|function| function.name.as_str()))?;
        let services = Services::named(&options.services)?;
        let services = services.context("functions need --kafka, and --redis of a Redis of their own")?;
        let ground = Self { services, binaries };
        let mut redis = ground.services.plain_redis().await?;
        let keys: u64 = redis::cmd("DBSIZE").query_async(&mut redis).await?;
        ensure!(
            keys == 0,
            "the Redis at {} holds {keys} keys: functions need one of their own",
            ground.services.redis
        );
        let config = ground.services.kafka();
        let mut specs = config.topics.specs();
        for topic in &mut specs {
            topic.partitions = PARTITIONS;
        }
        create_topics(&config, &specs).await.context("topics cannot be created")?;
        Ok(ground)
    }

    /// The functions alone, on this ground.
    ///
    /// # Errors
    /// When a binary is missing.
    pub(super) fn lambda(&self) -> anyhow::Result<Lambda> {
        let variables = self.variables();
        let programs = StackSpec::howk()?.functions.into_iter().map(|spec| {
            let path = self.binaries.get(&spec.name).with_context(|| format!("{} has no binary", spec.name))?;
            Ok(Program { path: path.clone(), variables: variables.clone(), spec })
        });
        Ok(Lambda::new(LambdaConfig {
            programs: programs.collect::<anyhow::Result<_>>()?,
            account_concurrency: 10,
            freezes: true,
            output: Output::logged(),
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
        }))
    }

    /// A stack whose fast lane gets batches of this size, and has as many requests in flight as it may.
    ///
    /// # Errors
    /// When it does not get ready.
    pub(super) async fn stack(&self, batch: u32, in_flight: u32) -> anyhow::Result<Stack> {
        let kafka = self.services.kafka();
        let mut config = StackConfig::new(kafka.brokers.clone())?;
        config.binaries = self.binaries.clone();
        config.topics =
            TopicSpec::all().into_iter().zip(kafka.topics.specs()).map(|(all, own)| (all.name, own.name)).collect();
        config.group.clone_from(&kafka.group.name);
        config.variables = self.variables();
        config.variables.insert("HOWK_DELIVERY_CONCURRENCY".to_owned(), in_flight.to_string());
        // No webhook is retried, so the scheduler is not needed.
        config.spec.schedules.retain(|schedule| schedule.function == "reconciler");
        for schedule in &mut config.spec.schedules {
            schedule.rate = Duration::from_secs(1);
        }
        let source = config.spec.event_source("fast-lane").context("the fast lane has an event source")?;
        source.batch_size = usize::try_from(batch)?;
        source.window = Duration::from_secs(1);
        let stack = Stack::start(config).await?;
        stack.until_ready(TIMEOUT).await?;
        Ok(stack)
    }

    /// How many scripts Redis ran so far.
    ///
    /// # Errors
    /// When it does not answer.
    pub(super) async fn scripts(&self) -> anyhow::Result<u64> {
        let mut redis = self.services.plain_redis().await?;
        let info: String = redis::cmd("INFO").arg("commandstats").query_async(&mut redis).await?;
        let calls = |line: &str| {
            let (name, counted) = line.split_once(":calls=")?;
            let is_script = ["cmdstat_evalsha", "cmdstat_eval"].contains(&name);
            is_script.then(|| counted.split(',').next()?.parse::<u64>().ok())?
        };
        Ok(info.lines().filter_map(calls).sum())
    }

    fn variables(&self) -> BTreeMap<String, String> {
        let KafkaConfig { brokers, group, topics, .. } = self.services.kafka();
        let TopicNames { pending, slow, results, deadletter, state } = topics;
        let pairs = [
            ("HOWK_KAFKA_BROKERS", brokers.join(",")),
            ("HOWK_KAFKA_CONSUMER_GROUP", group.name),
            ("HOWK_KAFKA_TOPICS_PENDING", pending),
            ("HOWK_KAFKA_TOPICS_SLOW", slow),
            ("HOWK_KAFKA_TOPICS_RESULTS", results),
            ("HOWK_KAFKA_TOPICS_DEADLETTER", deadletter),
            ("HOWK_KAFKA_TOPICS_STATE", state),
            ("HOWK_KAFKA_PER_KEY_PARALLELISM", "1000".to_owned()),
            ("HOWK_REDIS_ADDR", self.services.redis.clone()),
            ("HOWK_REDIS_CLUSTER", "true".to_owned()),
            ("HOWK_SECRETS_KEY", "a key of the measurements, of no other use".to_owned()),
            ("HOWK_API_AUTH", "none".to_owned()),
            ("HOWK_CONCURRENCY_MAX_INFLIGHT_PER_ENDPOINT", "1000".to_owned()),
            ("HOWK_DELIVERY_ALLOW_PRIVATE_ADDRESSES", "true".to_owned()),
            ("HOWK_DELIVERY_MAX_IDLE_CONNS", "1000".to_owned()),
        ];
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Removes the topics, and everything in the Redis that was empty before.
    ///
    /// # Errors
    /// When a service does not answer.
    pub(super) async fn clean_up(self) -> anyhow::Result<()> {
        let mut redis = self.services.plain_redis().await?;
        redis::cmd("FLUSHALL").query_async::<()>(&mut redis).await?;
        self.services.clean_up().await
    }
}
