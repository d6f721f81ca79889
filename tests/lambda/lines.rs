//! The output of howk's own functions: log lines that name their webhook, metrics, and the trace that they pass on.

use std::process::Command;
use std::sync::Arc;

use domain::{ConfigId, Endpoint, WebhookId};
use howk_local::invoker::http_client;
use howk_local::lambda::{Line, Output};
use howk_local::stack::StackConfig;
use parking_lot::Mutex;
use serde_json::{Value, json};
use testkit::receiver::Reply;

use crate::own_redis::OwnRedis;
use crate::rig::{until, write};
use crate::system::System;

/// The modules whose log lines are about webhooks. The store and the log write theirs inside the spans of these.
const ABOUT_WEBHOOKS: [&str; 5] =
    ["delivery::batch", "delivery::deliver", "delivery::effects", "delivery::enqueue", "sender_http"];
/// What these say about no webhook: about a batch, or about an endpoint.
const ABOUT_OTHERS: [&str; 1] = ["the invocation ends before its batch is settled"];
/// The text about a record that cannot be read.
const UNDECODABLE: &str = "a record cannot be read and is dead-lettered with its bytes";

type Lines = Arc<Mutex<Vec<Line>>>;

/// Sets the functions of a stack to debug level, and keeps their lines.
fn kept(config: &mut StackConfig) -> Lines {
    let lines: Lines = Arc::default();
    let taken = Arc::clone(&lines);
    config.output = Output::to(move |line| taken.lock().push(line));
    config.variables.insert("HOWK_LOG_LEVEL".to_owned(), "debug".to_owned());
    lines
}

fn parsed(lines: &Lines) -> Vec<Value> {
    lines.lock().iter().map(|line| serde_json::from_str(&line.text).expect("JSON on every line")).collect()
}

fn has(lines: &Lines, message: &str, webhook: &str) -> bool {
    parsed(lines).iter().any(|line| line["message"] == message && line["webhook_id"] == webhook)
}

/// Sends a command to a Redis, as an operator would.
fn redis(redis: &OwnRedis, command: &[&str]) {
    let address = redis.address();
    let port = address.rsplit(':').next().unwrap();
    let asked = Command::new("redis-cli").args(["-e", "-h", "127.0.0.1", "-p", port]).args(command).output().unwrap();
    assert!(asked.status.success(), "{command:?}: {}", String::from_utf8_lossy(&asked.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_line_about_a_webhook_names_it() {
    let (mut lines, mut brokers, mut topic) = (Lines::default(), Vec::new(), String::new());
    let system = System::start(|config| {
        lines = kept(config);
        brokers.clone_from(&config.brokers);
        topic.clone_from(&config.topics["howk.pending"]);
    })
    .await;
    system.receiver.script("/fails-once", [Reply::status(500), Reply::status(200)]);
    system.receiver.script("/refuses", [Reply::status(400)]);
    let again = system.post("acme", "/fails-once").await;
    let refused = system.post("acme", "/refuses").await;
    system.until_delivered(&again).await;
    until("it is dead-lettered", async || {
        parsed(&lines).iter().any(|line| line["disposition"] == "dead_lettered" && line["webhook_id"] == *refused)
    })
    .await;

    let unknown = unsettled_for_a_while(&system, &lines).await;
    without_status(&system, &lines).await;
    // A record that cannot be read has no webhook id: its position identifies it.
    let (partition, offset) = write(&brokers, &topic, b"not a webhook").await;
    let is_logged = async || {
        let stands_there = |line: &Value| line["partition"] == partition && line["offset"] == offset;
        parsed(&lines).iter().any(|line| line["message"] == UNDECODABLE && stands_there(line))
    };
    until("its position is logged", is_logged).await;

    let found = parsed(&lines);
    check_names(&found);
    for id in [&again, &refused, &unknown] {
        let mentioned = found.iter().filter(|line| line.to_string().contains(id.as_str()));
        mentioned.for_each(|line| assert_eq!(line["webhook_id"], **id, "{line}"));
    }
    system.shut_down().await;
}

/// Makes the state of one endpoint unreadable for a while, so that howk cannot settle its webhook. Returns the
/// webhook's id.
async fn unsettled_for_a_while(system: &System, lines: &Lines) -> String {
    let endpoint = Endpoint::parse(&system.receiver.url("/unknown")).unwrap();
    let key = format!("{{ep:{}}}", endpoint.hash());
    redis(&system.redis, &["set", &key, "no hash"]);
    let unknown = system.post("acme", "/unknown").await;
    until("it comes again", async || has(lines, "a record could not be settled; it is redelivered", &unknown)).await;
    redis(&system.redis, &["del", &key]);
    system.until_delivered(&unknown).await;
    unknown
}

/// Makes the status of one webhook unwritable. Its id is known beforehand, since it is derived from its idempotency key.
async fn without_status(system: &System, lines: &Lines) {
    let id = WebhookId::derived(&ConfigId::parse("acme").unwrap(), "order-7");
    redis(&system.redis, &["set", &format!("{{wh:{id}}}"), "no hash"]);
    let body = json!({ "endpoint": system.receiver.url("/late"), "payload": 1, "idempotency_key": "order-7" });
    let url = format!("{}/webhooks/acme/enqueue", system.stack.url);
    assert_eq!(http_client().unwrap().post(url).body(body.to_string()).send().await.unwrap().status(), 202);
    until("it is logged", async || has(lines, "an accepted webhook has no status yet", &id.to_string())).await;
}

/// Checks that each line about a webhook has its id.
fn check_names(found: &[Value]) {
    let about = found.iter().filter(|line| {
        let target = line["target"].as_str().unwrap_or_default();
        let is_other = ABOUT_OTHERS.iter().any(|message| line["message"] == *message);
        ABOUT_WEBHOOKS.iter().any(|from| target.starts_with(from)) && !is_other
    });
    let is_named = |line: &&Value| line["webhook_id"].as_str().is_some_and(|id| id.starts_with("wh_"));
    let (named, nameless): (Vec<_>, Vec<_>) = about.partition(is_named);
    let nameless: Vec<_> = nameless.into_iter().filter(|line| line["message"] != UNDECODABLE).collect();
    assert!(nameless.is_empty(), "{nameless:#?}");
    assert!(named.len() >= 6, "{named:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_receiver_gets_the_trace_of_the_function_s_invocation() {
    let system = System::start(|_| {}).await;
    let posted = async |path: &str, headers: &[(&str, &str)]| {
        let body = json!({ "endpoint": system.receiver.url(path), "payload": 1 });
        let request = http_client().unwrap().post(format!("{}/webhooks/acme/enqueue", system.stack.url));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        assert_eq!(request.body(body.to_string()).send().await.unwrap().status(), 202);
        until("it is sent", async || !system.receiver.requests_to(path).is_empty()).await;
        system.receiver.requests_to(path).remove(0).header("traceparent").unwrap_or_default()
    };
    // An HTTP API adds, and passes on, no more than the root; the parent is of Lambda's own context.
    let of_root = posted("/root", &[("x-amzn-trace-id", "Root=1-5759e988-bd862e3fe1be46a994272793")]).await;
    let parent = of_root.strip_prefix("00-5759e988bd862e3fe1be46a994272793-").unwrap_or_default();
    assert_eq!(parent.len(), "53995c3f42cd8ad8-00".len(), "{of_root}");
    let of_nothing = posted("/nothing", &[]).await;
    assert_eq!(of_nothing.len(), of_root.len(), "{of_nothing}");
    assert_ne!(of_nothing.get(..35), of_root.get(..35), "a trace of its own");
    let given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    assert_eq!(posted("/given", &[("traceparent", given)]).await, given, "the caller's own comes first");
    system.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn due_webhooks_and_the_lag_are_metrics_of_the_scheduler() {
    let mut lines = Lines::default();
    let system = System::start(|config| lines = kept(config)).await;
    system.receiver.script("/down", std::iter::repeat_n(Reply::status(503), 50));
    system.post("acme", "/down").await;
    let gauged = |name: &str| -> Vec<f64> {
        let found = parsed(&lines).into_iter().filter(|line| line["function"] == "scheduler");
        found.filter_map(|line| line[name].as_f64()).collect()
    };
    until("the retry is seen to wait", async || gauged("howk_retry_queue_depth").contains(&1.0)).await;
    until("so is what is due", async || !gauged("howk_retry_due").is_empty()).await;
    until("so is what is not settled", async || gauged("howk_lane_lag").contains(&0.0)).await;
    system.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rebuilds_of_the_reconciler_are_a_metric() {
    let mut lines = Lines::default();
    let system = System::start(|config| lines = kept(config)).await;
    system.receiver.script("/later", [Reply::status(503), Reply::status(503), Reply::status(200)]);
    let id = system.post("acme", "/later").await;
    system.receiver.received(1).await;
    let of_rebuilds = |name: &str| -> u64 {
        let found = parsed(&lines).into_iter().filter(|line| line["function"] == "reconciler");
        found.filter_map(|line| line[name].as_u64()).sum()
    };
    // The rebuild at the start found nothing to replay.
    let before = of_rebuilds("howk_rebuild_replayed_total");
    system.redis.flush();
    system.until_delivered(&id).await;
    until("what was replayed is counted", async || of_rebuilds("howk_rebuild_replayed_total") > before).await;
    until("so is the rebuild", async || of_rebuilds("howk_rebuilds_total") >= 2).await;
    system.shut_down().await;
}
