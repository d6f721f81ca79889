//! `localstack/services` itself.

use std::os::unix::fs::symlink;
use std::process::Output;

use howk_tests::rig::pair::{Service, turn};
use settings::{Environment, ProcessEnvironment};

/// What the script needs of the system, beside Kafka's own needs.
const TOOLS: [&str; 18] = [
    "bash",
    "env",
    "dirname",
    "mkdir",
    "cat",
    "grep",
    "tr",
    "sed",
    "sleep",
    "rm",
    "tail",
    "head",
    "python3",
    "openssl",
    "redis-server",
    "redis-cli",
    "mvn",
    "id",
];

fn said(done: &Output) -> (Option<i32>, Vec<String>, String) {
    let lines = String::from_utf8_lossy(&done.stdout).lines().map(str::to_owned).collect();
    (done.status.code(), lines, String::from_utf8_lossy(&done.stderr).into_owned())
}

/// "Idempotent, by process id", and "prints ... as its last lines".
#[tokio::test]
async fn up_twice_is_up_once_and_says_where() {
    let pair = turn().await;
    let processes = || [Service::Kafka, Service::Redis].map(|service| pair.process(service));
    let before = processes();
    let (code, lines, _) = said(&pair.script(&["up"]).output().unwrap());
    assert_eq!((code, processes()), (Some(0), before));
    let wanted = [format!("HOWK_KAFKA_BROKERS={}", pair.brokers()), format!("HOWK_REDIS_ADDR={}", pair.redis())];
    assert_eq!(lines[lines.len() - 2..], wanted);
    assert_eq!(said(&pair.script(&["status"]).output().unwrap()).0, Some(0));
}

/// "Those variables, when set, are used instead of starting anything".
#[tokio::test]
async fn what_is_there_already_is_used() {
    let pair = turn().await;
    let folder = pair.folder().join("elsewhere");
    let mut script = pair.script(&["up"]);
    script.env("SERVICES_FOLDER", &folder);
    script.env("HOWK_KAFKA_BROKERS", pair.brokers()).env("HOWK_REDIS_ADDR", pair.redis());
    let (code, lines, _) = said(&script.output().unwrap());
    assert_eq!(code, Some(0));
    assert!(
        lines.ends_with(&[
            format!("HOWK_KAFKA_BROKERS={}", pair.brokers()),
            format!("HOWK_REDIS_ADDR={}", pair.redis())
        ])
    );
    assert!(!folder.join("kafka/pid").exists() && !folder.join("redis/pid").exists(), "nothing was started");
}

/// "A clear message when Java or Maven is missing".
#[tokio::test]
async fn a_machine_without_java_is_told_so() {
    let pair = turn().await;
    let (folder, tools) = (pair.folder().join("poor"), pair.folder().join("tools"));
    std::fs::create_dir_all(&tools).unwrap();
    let path = ProcessEnvironment.variables().get("PATH").cloned().unwrap_or_default();
    for tool in TOOLS {
        let found = std::env::split_paths(&path).map(|folder| folder.join(tool)).find(|file| file.exists());
        // What a machine has not got, it does without.
        found.map(|file| symlink(file, tools.join(tool)));
    }
    let mut script = pair.script(&["up"]);
    let script = script.env("PATH", &tools).env("SERVICES_FOLDER", &folder).env("HOWK_REDIS_ADDR", pair.redis());
    let (code, _, complaint) = said(&script.output().unwrap());
    assert_eq!(code, Some(1), "{complaint}");
    assert!(complaint.contains("java is missing: install it"), "{complaint}");
    std::fs::remove_dir_all(&tools).unwrap();
}
