//! howk's own functions on the stack, on real Kafka and Redis: a webhook is delivered, retried, and survives a lost
//! Redis.

use std::collections::BTreeMap;
use std::time::Duration;

use howk_local::invoker::http_client;
use howk_local::lambda::Phase;
use howk_local::stack::{Stack, StackConfig};
use log_kafka::{KafkaConfig, TopicNames, TopicSpec, create_topics, delete_topics};
use reqwest::Client;
use serde_json::{Value, json};
use settings::{Environment, ProcessEnvironment};
use testkit::generate::fresh_number;
use testkit::receiver::{FakeReceiver, Reply};

use crate::functions::binaries;
use crate::own_redis::{OwnRedis, TIMEOUT};
use crate::rig::until;

/// Enough to spread keys. Few, because the broker keeps files open for each.
const PARTITIONS: u32 = 4;

/// howk on a stack of its own: topics and a group with a prefix, a Redis of its own, quick schedules.
pub(crate) struct System {
    pub(crate) stack: Stack,
    pub(crate) redis: OwnRedis,
    pub(crate) receiver: FakeReceiver,
    client: Client,
    topics: Topics,
}

/// The topics of a system, deleted with it.
pub(crate) struct Topics {
    pub(crate) config: KafkaConfig,
    specs: Vec<TopicSpec>,
}

impl Drop for Topics {
    fn drop(&mut self) {
        let (config, specs) = (self.config.clone(), self.specs.clone());
        let deleting = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(delete_topics(&config, &specs)).ok()
        });
        // Topics that can't be deleted do no harm.
        drop(deleting);
    }
}

impl System {
    /// A system whose stack and variables the test changes before they start.
    pub(crate) async fn start(change: impl FnOnce(&mut StackConfig)) -> Self {
        let (redis, receiver) = (OwnRedis::start().await, FakeReceiver::start().await);
        let topics = make_topics(&format!("test-{}-{}.", std::process::id(), fresh_number())).await;
        let mut config = stack_config(&topics.config, redis.address());
        change(&mut config);
        let stack = Stack::start(config).await.unwrap();
        stack.until_ready(TIMEOUT).await.unwrap();
        Self { stack, redis, receiver, client: http_client().unwrap(), topics }
    }

    /// Posts a webhook to a path of the receiver, and returns its id.
    pub(crate) async fn post(&self, tenant: &str, path: &str) -> String {
        let body = json!({ "endpoint": self.receiver.url(path), "payload": { "to": path }, "signing_secret": "s" });
        let url = format!("{}/webhooks/{tenant}/enqueue", self.stack.url);
        let answer = self.client.post(url).body(body.to_string()).send().await.unwrap();
        assert_eq!(answer.status(), 202);
        let body: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        body["webhook_id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn state(&self, id: &str) -> String {
        let answer = self.client.get(format!("{}/webhooks/{id}/status", self.stack.url)).send().await.unwrap();
        let body: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default();
        body["state"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) async fn until_delivered(&self, id: &str) {
        until(&format!("{id} is delivered"), async || self.state(id).await == "delivered").await;
    }

    pub(crate) async fn shut_down(self) {
        self.stack.shut_down().await;
        drop(self.topics);
    }
}

pub(crate) async fn make_topics(prefix: &str) -> Topics {
    let variables = ProcessEnvironment.variables();
    let brokers = variables.get("HOWK_KAFKA_BROKERS").expect("HOWK_KAFKA_BROKERS: localstack/services up says it");
    let config = KafkaConfig::new(brokers.split(',').map(str::to_owned).collect()).prefixed(prefix);
    let specs = create_few_partitions(&config).await;
    Topics { config, specs }
}

/// Creates the topics of a system.
pub(crate) async fn create_few_partitions(config: &KafkaConfig) -> Vec<TopicSpec> {
    let mut specs = config.topics.specs();
    for spec in &mut specs {
        spec.partitions = PARTITIONS;
    }
    create_topics(config, &specs).await.unwrap();
    specs
}

/// howk's functions on this Kafka, and on a Redis at this address; quick schedules.
pub(crate) fn stack_config(kafka: &KafkaConfig, redis: String) -> StackConfig {
    let mut config = StackConfig::new(kafka.brokers.clone()).unwrap();
    let names = config.spec.functions.iter().map(|function| function.name.as_str());
    config.binaries = binaries(names);
    config.topics =
        TopicSpec::all().into_iter().zip(kafka.topics.specs()).map(|(all, own)| (all.name, own.name)).collect();
    config.group.clone_from(&kafka.group.name);
    config.variables = variables(kafka, redis);
    for schedule in &mut config.spec.schedules {
        schedule.rate = Duration::from_secs(1);
    }
    config.spec.function("scheduler").unwrap().timeout = Duration::from_secs(5);
    config
}

/// The settings of howk on these topics and this Redis.
pub(crate) fn variables(kafka: &KafkaConfig, redis: String) -> BTreeMap<String, String> {
    let TopicNames { pending, slow, results, deadletter, state } = &kafka.topics;
    let pairs = [
        ("HOWK_KAFKA_BROKERS", kafka.brokers.join(",")),
        ("HOWK_KAFKA_CONSUMER_GROUP", kafka.group.name.clone()),
        ("HOWK_KAFKA_TOPICS_PENDING", pending.clone()),
        ("HOWK_KAFKA_TOPICS_SLOW", slow.clone()),
        ("HOWK_KAFKA_TOPICS_RESULTS", results.clone()),
        ("HOWK_KAFKA_TOPICS_DEADLETTER", deadletter.clone()),
        ("HOWK_KAFKA_TOPICS_STATE", state.clone()),
        ("HOWK_REDIS_ADDR", redis),
        ("HOWK_REDIS_CLUSTER", "true".to_owned()),
        ("HOWK_SECRETS_KEY", "a key of the tests, of no other use".to_owned()),
        ("HOWK_API_AUTH", "none".to_owned()),
        ("HOWK_DELIVERY_ALLOW_PRIVATE_ADDRESSES", "true".to_owned()),
        ("HOWK_RETRY_BASE_DELAY", "1s".to_owned()),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_is_delivered_and_a_failed_one_retried() {
    let system = System::start(|_| {}).await;
    system.receiver.script("/fails-once", [Reply::status(500), Reply::status(200)]);
    let (good, again) = (system.post("acme", "/good").await, system.post("acme", "/fails-once").await);
    system.until_delivered(&good).await;
    system.until_delivered(&again).await;
    assert_eq!(system.receiver.requests_to("/good").len(), 1);
    assert_eq!(system.receiver.requests_to("/fails-once").len(), 2);
    let sent = system.receiver.requests_to("/good").remove(0);
    assert_eq!(sent.header("webhook-id"), Some(good));
    system.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lane_that_is_killed_at_work_delivers_in_the_end() {
    let system = System::start(|_| {}).await;
    let ids = [system.post("a", "/a").await, system.post("b", "/b").await, system.post("c", "/c").await];
    let lambda = system.stack.lambda();
    until("a lane was killed", async || {
        let lane = lambda.state_of("fast-lane").unwrap().environments;
        lane.iter().any(|one| one.phase != Phase::Ended && lambda.kill(one.id))
    })
    .await;
    for id in &ids {
        system.until_delivered(id).await;
    }
    system.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_redis_is_rebuilt_and_waiting_webhooks_are_delivered() {
    let system = System::start(|_| {}).await;
    system.receiver.script("/later", [Reply::status(503), Reply::status(503), Reply::status(200)]);
    let id = system.post("acme", "/later").await;
    system.receiver.received(1).await;
    system.redis.flush();
    system.until_delivered(&id).await;
    system.shut_down().await;
}
