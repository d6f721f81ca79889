//! Secrets by their ARN: the settings that a function reads, the requests that this takes, and the errors when a secret
//! can't be read.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use howk_local::invoker::http_client;
use lambda_kit::WithSecrets;
use serde_json::json;
use settings::{Environment, Settings, Sources};
use testkit::receiver::Reply;
use tokio::time::timeout;

use crate::functions::Alone;
use crate::secret_store::{FakeSecretStore, Place, Stored, aws_at};
use crate::system::System;

const KEY: &str = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:howk/secrets-key-a1B2c3";
const CALLERS: &str = "arn:aws:secretsmanager:us-east-2:123456789012:secret:howk/api-keys-d4E5f6";
const CURRENT: &str = "the key that seals, 32 characters";
const PREVIOUS: &str = "the key before, with a comma, and \"";
/// The SHA-256 of `open sesame`.
const HASH: &str = "41ef4bb0b23661e66301aac36066912dac037827b4ae63a7b1165a5aa93ed4eb";

fn text(text: &str) -> Stored {
    Stored::Text(text.to_owned())
}

fn at(arn: &str, stage: &'static str) -> Place {
    (arn.to_owned(), stage)
}

fn callers() -> Stored {
    text(&json!({ "acme": { "hash": HASH, "config_ids": ["acme"] } }).to_string())
}

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// The settings, or the errors as lines.
fn settings(secrets: &WithSecrets) -> Result<Settings, Vec<String>> {
    let loaded = settings::read_function(Sources { file: None, environment: secrets }, &[&["secrets.key"]]).checked();
    loaded.map_err(|errors| errors.errors().iter().map(ToString::to_string).collect())
}

/// The one error.
fn error(secrets: &WithSecrets) -> String {
    let lines = settings(secrets).unwrap_err();
    assert_eq!(lines.len(), 1, "{lines:#?}");
    lines.into_iter().next().unwrap()
}

#[tokio::test]
async fn each_secret_and_stage_is_requested_once_and_all_at_the_same_time() {
    let stored = [
        (at(KEY, "AWSCURRENT"), text(CURRENT)),
        (at(KEY, "AWSPREVIOUS"), text(PREVIOUS)),
        (at(CALLERS, "AWSCURRENT"), callers()),
    ];
    let store = FakeSecretStore::start(stored, 3).await;
    let environment = variables(&[("HOWK_SECRETS_KEY_ARN", KEY), ("HOWK_API_KEYS_ARN", CALLERS)]);
    let secrets = WithSecrets::by(&store.aws(), &environment).await;
    let settings = settings(&secrets).unwrap();
    assert_eq!(settings.secrets.key.unwrap().reveal(), CURRENT);
    let previous: Vec<_> = settings.secrets.previous_keys.iter().map(|key| key.reveal().to_owned()).collect();
    assert_eq!(previous, [PREVIOUS]);
    assert_eq!(settings.api.keys["acme"].hash, HASH);
    let asked = store.asked();
    let asked: Vec<_> = asked.iter().map(|(arn, stage)| (arn.as_str(), stage.as_str())).collect();
    assert_eq!(asked, [(KEY, "AWSCURRENT"), (KEY, "AWSPREVIOUS"), (CALLERS, "AWSCURRENT")]);
    assert_eq!(store.regions(), ["eu-central-1".to_owned(), "us-east-2".to_owned()].into());
    let shown = format!("{secrets:?}");
    assert!(!shown.contains(CURRENT) && !shown.contains(PREVIOUS) && !shown.contains(HASH), "{shown}");
}

#[tokio::test]
async fn without_a_previous_value_or_with_one_that_never_sealed_there_is_no_previous_key() {
    for previous in [None, Some(text("oops"))] {
        let previous = previous.map(|stored| (at(KEY, "AWSPREVIOUS"), stored));
        let stored = [(at(KEY, "AWSCURRENT"), text(CURRENT))].into_iter().chain(previous);
        let store = FakeSecretStore::start(stored, 2).await;
        let secrets = WithSecrets::by(&store.aws(), &variables(&[("HOWK_SECRETS_KEY_ARN", KEY)])).await;
        assert!(settings(&secrets).unwrap().secrets.previous_keys.is_empty());
    }
}

#[tokio::test]
async fn previous_keys_that_are_set_replace_those_of_the_secret() {
    let store = FakeSecretStore::start([(at(KEY, "AWSCURRENT"), text(CURRENT))], 1).await;
    let own = "a key of the operator, which also sealed";
    let pairs = [("HOWK_SECRETS_KEY_ARN", KEY), ("HOWK_SECRETS_PREVIOUS_KEYS", &json!([own]).to_string())];
    let secrets = WithSecrets::by(&store.aws(), &variables(&pairs)).await;
    let previous = settings(&secrets).unwrap().secrets.previous_keys;
    assert_eq!(previous.iter().map(domain::Secret::reveal).collect::<Vec<_>>(), [own]);
    assert_eq!(store.asked(), [(KEY.to_owned(), "AWSCURRENT".to_owned())]);
}

#[tokio::test]
async fn without_arns_secrets_manager_is_not_asked() {
    let environment = variables(&[("HOWK_SECRETS_KEY", CURRENT), ("HOWK_SECRETS_KEY_ARN", "")]);
    let secrets = WithSecrets::by(&aws_at("http://127.0.0.1:1"), &environment).await;
    assert_eq!(settings(&secrets).unwrap().secrets.key.unwrap().reveal(), CURRENT);
    assert_eq!(WithSecrets::of(&environment).await.variables().len(), 1);
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_is_one_error_that_names_variable_arn_and_fix() {
    for (stored, fix) in [
        (Some(Stored::Refused("AccessDeniedException")), "allow it secretsmanager:GetSecretValue, and kms:Decrypt"),
        (Some(Stored::Refused("DecryptionFailure")), "enable its key"),
        (Some(Stored::Refused("InvalidRequestException")), "keep it with restore-secret"),
        (Some(Stored::Refused("InvalidParameterException")), "InvalidParameterException"),
        (Some(Stored::Bytes), "write it as text, with put-secret-value --secret-string"),
        (None, "there is no such secret, or nothing in it"),
    ] {
        let stored = stored.map(|stored| (at(KEY, "AWSCURRENT"), stored));
        let store = FakeSecretStore::start(stored, 2).await;
        let secrets = WithSecrets::by(&store.aws(), &variables(&[("HOWK_SECRETS_KEY_ARN", KEY)])).await;
        let error = error(&secrets);
        let start = format!("secrets.key (HOWK_SECRETS_KEY): HOWK_SECRETS_KEY_ARN names {KEY}, and ");
        assert!(error.starts_with(&start) && error.contains(fix), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[tokio::test]
async fn a_previous_value_that_is_refused_is_an_error_too() {
    let refused = Stored::Refused("AccessDeniedException");
    let stored = [(at(KEY, "AWSCURRENT"), text(CURRENT)), (at(KEY, "AWSPREVIOUS"), refused)];
    let store = FakeSecretStore::start(stored, 2).await;
    let secrets = WithSecrets::by(&store.aws(), &variables(&[("HOWK_SECRETS_KEY_ARN", KEY)])).await;
    let error = error(&secrets);
    assert!(error.starts_with("secrets.previous_keys (HOWK_SECRETS_PREVIOUS_KEYS): HOWK_SECRETS_KEY_ARN names"));
}

#[tokio::test]
async fn an_invalid_arn_and_a_value_that_is_set_twice_are_refused_before_any_request() {
    let aws = aws_at("http://127.0.0.1:1");
    let secrets = WithSecrets::by(&aws, &variables(&[("HOWK_SECRETS_KEY_ARN", "the key itself")])).await;
    let no_arn = "secrets.key (HOWK_SECRETS_KEY): HOWK_SECRETS_KEY_ARN is not the ARN of a secret: \
                  arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME";
    assert_eq!(error(&secrets), no_arn);
    let secrets =
        WithSecrets::by(&aws, &variables(&[("HOWK_SECRETS_KEY_ARN", KEY), ("HOWK_SECRETS_KEY", CURRENT)])).await;
    let twice = "secrets.key (HOWK_SECRETS_KEY): HOWK_SECRETS_KEY_ARN is set too: set one of them";
    assert_eq!(error(&secrets), twice);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_is_not_waited_for_long() {
    // It never answers: fewer requests come than it waits for.
    let store = FakeSecretStore::start([], 1000).await;
    let (aws, environment) = (store.aws(), variables(&[("HOWK_SECRETS_KEY_ARN", KEY)]));
    let secrets = timeout(Duration::from_secs(6), WithSecrets::by(&aws, &environment)).await.expect("it gives up");
    let error = error(&secrets);
    assert!(error.contains("a function needs the endpoint com.amazonaws.eu-central-1.secretsmanager"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_that_get_arns_deliver_what_callers_with_a_key_post() {
    let stored = [(at(KEY, "AWSCURRENT"), text(CURRENT)), (at(CALLERS, "AWSCURRENT"), callers())];
    // Each process sends its own requests, so they are answered one by one.
    let store = FakeSecretStore::start(stored, 1).await;
    let system = System::start(|config| {
        config.variables.remove("HOWK_SECRETS_KEY");
        config.variables.extend(store.variables().map(|(name, value)| (name.to_owned(), value)));
        for (function, name, arn) in [
            ("enqueue", "HOWK_API_KEYS_ARN", CALLERS),
            ("enqueue", "HOWK_SECRETS_KEY_ARN", KEY),
            ("fast-lane", "HOWK_SECRETS_KEY_ARN", KEY),
            ("slow-lane", "HOWK_SECRETS_KEY_ARN", KEY),
        ] {
            config.spec.function(function).unwrap().variables.insert(name.to_owned(), arn.to_owned());
        }
        let enqueue = config.spec.function("enqueue").unwrap();
        enqueue.variables.insert("HOWK_API_AUTH".to_owned(), "keys".to_owned());
    })
    .await;
    system.receiver.script("/sealed", [Reply::status(200)]);
    let body =
        json!({ "endpoint": system.receiver.url("/sealed"), "payload": {}, "signing_secret": "s" }).to_string();
    let url = format!("{}/webhooks/acme/enqueue", system.stack.url);
    let post = |key: &str| http_client().unwrap().post(&url).bearer_auth(key).body(body.clone()).send();
    assert_eq!(post("a guess").await.unwrap().status(), 401);
    assert_eq!(post("open sesame").await.unwrap().status(), 202);
    let sent = system.receiver.received(1).await;
    assert!(sent[0].header("webhook-signature").is_some(), "the lane read the secret: {sent:?}");
    smoke(&system).await;
    system.shut_down().await;
}

/// Runs the smoke test of a deployment against this stack.
async fn smoke(system: &System) {
    let mut script = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/scripts/smoke"));
    script.env("HOWK_URL", &system.stack.url).env("HOWK_KEY", "open sesame").env("HOWK_CONFIG_ID", "acme");
    script.env("HOWK_RECEIVER", system.receiver.url("/smoke"));
    let smoked = tokio::task::spawn_blocking(move || script.output()).await.unwrap().unwrap();
    let output = String::from_utf8_lossy(&smoked.stdout).into_owned() + &String::from_utf8_lossy(&smoked.stderr);
    assert!(smoked.status.success(), "{output}");
    for part in ["ready: ", "refused: a caller without a key", "delivered: "] {
        assert!(output.contains(part), "{output}");
    }
}

#[tokio::test]
async fn a_function_that_may_not_read_its_secret_logs_every_mistake_on_one_line() {
    let store = FakeSecretStore::start([(at(KEY, "AWSCURRENT"), Stored::Refused("AccessDeniedException"))], 2).await;
    let own = [("HOWK_SECRETS_KEY_ARN", KEY), ("HOWK_API_AUTH", "none"), ("HOWK_RETRY_JITTER", "2")];
    let own = own.map(|(name, value)| (name, value.to_owned())).into_iter();
    let enqueue = Alone::new("enqueue", own.chain(store.variables()));
    let line = enqueue.refuses_to_start().await;
    assert!(line.contains("enqueue cannot start: 4 errors in the settings: "), "{line}");
    for part in [
        "redis.addr (HOWK_REDIS_ADDR): is not set",
        "retry.jitter (HOWK_RETRY_JITTER): 2 is not between 0 and 1",
        KEY,
        "allow it secretsmanager:GetSecretValue",
    ] {
        assert!(line.contains(part), "{part}\nis not in\n{line}");
    }
    enqueue.shut_down().await;
}
