//! Several servers on one Kafka and Redis: they share the work, and the others take over from one that is killed.
#![cfg(feature = "services")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set up its world fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use testkit::receiver::FakeReceiver;

/// Webhooks of one batch, and batches that are accepted right before the kill.
const BATCH: usize = 100;
const BATCHES: usize = 10;
/// How often a condition is checked, [`PAUSE`] apart: 90 s, well beyond the end of a membership and of a claim.
const CHECKS_MAX: u32 = 900;
const PAUSE: Duration = Duration::from_millis(100);

/// A server process, killed when the test ends.
struct Server {
    process: Child,
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn variable(name: &str) -> String {
    #[expect(clippy::disallowed_methods, reason = "the script that starts the services says where they are")]
    let value = std::env::var(name);
    value.unwrap_or_else(|_| panic!("{name} is not set: start the services with localstack/services up"))
}

async fn start(prefix: &str) -> Server {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let topics = ["PENDING", "SLOW", "RESULTS", "DEADLETTER", "SCRIPTS", "STATE"];
    let process = Command::new(env!("CARGO_BIN_EXE_howk"))
        .args(["serve", "--port", &port.to_string(), "--kafka", &variable("HOWK_KAFKA_BROKERS")])
        .args(["--redis", &variable("HOWK_REDIS_ADDR")])
        .env_clear()
        .envs(topics.map(|topic| (format!("HOWK_KAFKA_TOPICS_{topic}"), format!("{prefix}.{topic}"))))
        .env("HOWK_KAFKA_CONSUMER_GROUP", prefix)
        .env("HOWK_SECRETS_KEY", "the takeover test has a key of its own")
        .env("HOWK_KAFKA_PER_KEY_PARALLELISM", "16")
        .env("HOWK_DELIVERY_USER_AGENT", format!("howk at {port}"))
        .env("HOWK_LOG_LEVEL", "warn")
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let server = Server { process, url: format!("http://127.0.0.1:{port}") };
    let ready = format!("{}/ready", server.url);
    until("the server is ready", async || reqwest::get(&ready).await.is_ok_and(|answer| answer.status() == 200))
        .await;
    server
}

async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    for _ in 0..CHECKS_MAX {
        if condition().await {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
    panic!("not within 90 s: {what}");
}

async fn enqueue(server: &Server, receiver: &FakeReceiver, batch: usize) {
    let item = |n| format!(r#"{{"endpoint":"{}","payload":{n}}}"#, receiver.url(&format!("/{}", n % 10)));
    let items: Vec<String> = (0..BATCH).map(item).collect();
    let body = format!(r#"{{"webhooks":[{}]}}"#, items.join(","));
    let url = format!("{}/webhooks/tenant-{}/enqueue/batch", server.url, batch % 8);
    let answer = reqwest::Client::new().post(url).body(body).send().await.unwrap();
    assert_eq!(answer.status(), 202, "{}", answer.text().await.unwrap());
}

fn received(receiver: &FakeReceiver) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for request in receiver.requests() {
        *counts.entry(request.header("webhook-id").unwrap()).or_default() += 1;
    }
    counts
}

/// The user agents of the servers that sent requests.
fn senders(receiver: &FakeReceiver) -> BTreeSet<String> {
    receiver.requests().iter().filter_map(|request| request.header("user-agent")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_others_take_over_from_a_killed_server_and_nothing_is_lost() {
    let prefix = format!("takeover-{}", std::process::id());
    // Chooses the TLS provider of the process, which the test's own client needs too.
    let vault = vault_xchacha::XChaChaVault::ephemeral(Arc::new(clock_system::SystemRandom)).unwrap();
    drop(sender_http::HttpSender::new(sender_http::SenderConfig::default(), Arc::new(vault)).unwrap());
    let receiver = FakeReceiver::start().await;
    let (doomed, survivor) = (start(&prefix).await, start(&prefix).await);
    let batches = AtomicUsize::new(0);
    let post = async || enqueue(&doomed, &receiver, batches.fetch_add(1, Ordering::Relaxed)).await;
    until("both servers share the work", async || {
        post().await;
        senders(&receiver).len() == 2
    })
    .await;
    for _ in 0..BATCHES {
        post().await;
    }
    drop(doomed);
    let count = BATCH * batches.into_inner();
    until("every webhook has arrived", async || received(&receiver).len() >= count).await;
    let extra: usize = received(&receiver).values().map(|count| count - 1).sum();
    assert!(extra <= 64, "only requests that the killed server had under way are sent again: {extra}");
    drop(survivor);
}
