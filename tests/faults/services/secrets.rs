//! SE-1: webhooks full of marked secrets go through failures of every kind, and none of the marks is found anywhere.

use std::collections::BTreeSet;
use std::time::Duration;

use howk_tests::rig::installation::Installation;
use howk_tests::rig::pair::{Turn, turn};
use howk_tests::rig::run::client;
use howk_tests::rig::servers::{Servers, Setup};
use howk_tests::rig::traces;
use serde_json::{Value, json};
use testkit::receiver::{FakeReceiver, Reply};

/// Begins every secret.
const MARK: &str = "s3cr3tMARK";
/// Is part of every payload: what is searched does contain what went through.
const PLAIN: &str = "plainMARK";
const KEY: &str = "whsec_czNjcjN0TUFSSy1mb3Itc3RhbmRhcmQtd2ViaG9va3M=";
/// The base64 part of [`KEY`].
const BARE_KEY: &str = "czNjcjN0TUFSSy1mb3Itc3RhbmRhcmQtd2ViaG9va3M";
const TENANT: &str = "marked";
const LOOKS_MAX: u32 = 300;
const PAUSE: Duration = Duration::from_millis(100);

/// What the receiver says of a request: everything that it was sent.
fn echo() -> String {
    format!("you sent Authorization: Bearer {MARK}-token; Cookie: session={MARK}-cookie; {MARK}-signing; {KEY}")
}

/// How the receiver answers, by path.
fn behaviours(receiver: &FakeReceiver) -> Vec<(&'static str, u32, Vec<Reply>)> {
    let elsewhere = receiver.url(&format!("/elsewhere?token={MARK}-token"));
    vec![
        ("takes", 3, vec![Reply::status(200).body(echo())]),
        ("recovers", 5, vec![Reply::status(500).body(echo()), Reply::status(503).body(echo()), Reply::status(200)]),
        ("broken", 3, vec![Reply::status(500).body(echo())]),
        ("throttles", 5, vec![Reply::status(429).header("Retry-After", "1").body(echo()), Reply::status(200)]),
        ("refuses", 3, vec![Reply::status(400).body(echo())]),
        ("gone", 3, vec![Reply::status(410).body(echo())]),
        ("redirects", 3, vec![Reply::status(302).header("Location", &elsewhere).body(echo())]),
        ("hangs", 2, vec![Reply::hang()]),
        ("waits", 90, vec![Reply::status(503).header("Retry-After", "3600").body(echo())]),
    ]
}

fn body(url: &str, max_attempts: u32) -> Value {
    json!({
        "endpoint": url, "payload": { "note": PLAIN }, "max_attempts": max_attempts,
        "headers": {
            "Authorization": format!("Bearer {MARK}-token"),
            "Cookie": format!("session={MARK}-cookie"),
            "X-API-Key": format!("{MARK}-api-key"),
            "X-Anything": format!("{MARK}-anything"),
        },
        "signing_secrets": [format!("{MARK}-signing"), KEY],
    })
}

/// Bodies that are refused, each with a secret in the wrong place.
fn refused(url: &str) -> Vec<String> {
    let sound = body(url, 3);
    let with = |field: &str, value: Value| {
        let mut changed = sound.as_object().cloned().unwrap_or_default();
        changed.insert(field.to_owned(), value);
        Value::Object(changed).to_string()
    };
    vec![
        with("headers", json!({ "Authorization": format!("{MARK}\r\nX-Injected: 1") })),
        with("headers", json!([format!("{MARK}-in-a-list")])),
        with("headers", json!({ "X-A": { "value": format!("{MARK}-nested") } })),
        with("headers", json!({ "X-A": format!("{MARK}{}", "x".repeat(17_000)) })),
        with("signing_secret", json!({ "secret": format!("{MARK}-nested") })),
        with("signing_secret", json!(format!("whsec_{MARK}!"))),
        with("signing_secrets", json!(format!("{MARK}-no-list"))),
        with("endpoint", json!(format!("http://me:{MARK}@127.0.0.1/"))),
        format!("{{\"signing_secret\":\"{MARK}\",\"signing_secret\":"),
        format!("{{\"endpoint\":\"{url}\",\"payload\":1,\"signing_secret\":\"{MARK}"),
    ]
}

/// A caller that keeps every answer it got.
#[derive(Debug)]
struct Caller {
    client: reqwest::Client,
    api: String,
    answers: Vec<String>,
}

impl Caller {
    async fn get(&mut self, path: &str) -> Value {
        let answer = self.client.get(format!("{}{path}", self.api)).send().await.unwrap();
        self.keep(answer).await
    }

    async fn post(&mut self, path: &str, body: String) -> Value {
        let asked = self.client.post(format!("{}{path}", self.api)).body(body).send();
        self.keep(asked.await.unwrap()).await
    }

    async fn keep(&mut self, answer: reqwest::Response) -> Value {
        let headers = format!("{:?}", answer.headers());
        let text = answer.text().await.unwrap();
        let value = serde_json::from_str(&text).unwrap_or_default();
        self.answers.extend([headers, text]);
        value
    }

    /// Asks until a webhook is in one of these states.
    #[expect(clippy::panic, reason = "a test that waits in vain fails")]
    async fn until(&mut self, id: &str, states: &[&str]) {
        for _ in 0..LOOKS_MAX {
            let answer = self.get(&format!("/webhooks/{id}/status")).await;
            if states.iter().any(|state| answer.get("state").is_some_and(|found| found == *state)) {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
        panic!("{id} is in none of {states:?}: {:?}", self.answers.last());
    }

    /// Every read that the API offers.
    async fn ask_everything(&mut self, ids: &[(String, &str)]) {
        for (id, _) in ids {
            self.get(&format!("/webhooks/{id}/status")).await;
            self.get(&format!("/webhooks/{id}/attempts")).await;
        }
        for path in ["/deadletters?config_id=marked", "/endpoints", "/stats", "/health", "/metrics", "/openapi.json"]
        {
            self.get(path).await;
        }
    }
}

fn id(answer: &Value) -> Option<&str> {
    answer.get("webhook_id").and_then(Value::as_str)
}

async fn post_all(caller: &mut Caller, receiver: &FakeReceiver) -> Vec<(String, &'static str)> {
    let mut ids = Vec::new();
    let refuses_connections = "http://127.0.0.1:1/in".to_owned();
    let speaks_no_tls = receiver.url("/takes").replacen("http:", "https:", 1);
    let mut wanted = vec![("down", 2, refuses_connections), ("no-tls", 2, speaks_no_tls)];
    for (path, max_attempts, replies) in behaviours(receiver) {
        receiver.script(&format!("/{path}"), replies);
        wanted.push((path, max_attempts, receiver.url(&format!("/{path}"))));
    }
    for (path, max_attempts, url) in wanted {
        let answer = caller.post(&format!("/webhooks/{TENANT}/enqueue"), body(&url, max_attempts).to_string()).await;
        ids.push((id(&answer).unwrap().to_owned(), path));
        for wrong in refused(&url) {
            let answer = caller.post(&format!("/webhooks/{TENANT}/enqueue"), wrong).await;
            assert_eq!(id(&answer), None, "{answer}");
        }
    }
    ids
}

async fn to_their_ends(caller: &mut Caller, ids: &[(String, &'static str)]) {
    for (id, path) in ids {
        let states: &[&str] = match *path {
            "takes" | "recovers" | "throttles" => &["delivered"],
            "waits" => &["failed"],
            _ => &["exhausted"],
        };
        caller.until(id, states).await;
    }
}

fn assert_unmarked(what: &str, texts: &[Vec<u8>]) {
    for text in texts {
        let text = String::from_utf8_lossy(text);
        for mark in [MARK, KEY, BARE_KEY] {
            assert!(!text.contains(mark), "{what} shows a secret: {text}");
        }
    }
}

fn contains(texts: &[Vec<u8>], text: &str) -> bool {
    texts.iter().any(|bytes| String::from_utf8_lossy(bytes).contains(text))
}

async fn start(turn: &Turn) -> Servers {
    Servers::start(turn, Setup::quick(1, "secrets.").with("HOWK_LOG_LEVEL", "trace")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn se_1_no_secret_is_written_logged_or_answered() {
    let turn = turn().await;
    let servers = start(&turn).await;
    let receiver = FakeReceiver::start().await;
    let mut caller = Caller { client: client(), api: servers.api(0), answers: Vec::new() };
    let ids = post_all(&mut caller, &receiver).await;
    to_their_ends(&mut caller, &ids).await;
    let (waits, _) = ids.iter().find(|(_, path)| *path == "waits").unwrap();
    // Rebuilt from the log, too.
    turn.flush();
    caller.until(waits, &["failed"]).await;
    caller.ask_everything(&ids).await;
    let replay = json!({ "config_id": TENANT, "since": "2020-01-01T00:00:00Z" });
    caller.post("/deadletters/replay", replay.to_string()).await;
    caller.ask_everything(&ids).await;

    let topics = servers.setup().topics();
    let topics = [topics.pending, topics.slow, topics.results, topics.deadletter, topics.state];
    let ours = traces::topics(&turn).into_iter().filter(|topic| topic.starts_with("secrets."));
    assert_eq!(ours.collect::<BTreeSet<_>>(), topics.iter().cloned().collect(), "no topic but those of topics.json");
    assert_eq!(traces::undocumented_keys(&turn), Vec::<String>::new());
    let (records, values) = (traces::records(&turn, &topics), traces::values(&turn));
    let answers: Vec<_> = caller.answers.iter().map(|answer| answer.clone().into_bytes()).collect();
    assert!(contains(&records, PLAIN) && contains(&values, PLAIN), "the payloads are found where they belong");
    assert!(contains(&records, "[REDACTED]"), "echoes were kept, without secrets");
    assert!(receiver.requests().iter().any(|request| request.header("authorization").is_some()));
    assert_unmarked("a record", &records);
    assert_unmarked("Redis", &values);
    assert_unmarked("an answer", &answers);
    assert_unmarked("the log", &[servers.log(0).into_bytes()]);
}
