//! Nothing detached outlives an invocation: the crates that a function is made of start no thread and no task of their own.
//!
//! The lint `disallowed_methods` bans single functions by name; this test reads the sources for every way of starting one.

use std::path::Path;

use crate::files::{own_lines, sources};

/// The code that an invocation runs through. Adapters are listed below, place by place.
const FUNCTIONS_AND_USE_CASES: [&str; 7] = [
    "functions/",
    "shared/delivery/src/",
    "shared/domain/src/",
    "shared/http-api/src/",
    "shared/lambda-kit/src/",
    "shared/wire/src/",
    "shared/wiring/src/",
];

/// Where an adapter may start a thread or a task, and what bounds its life.
const ALLOWED: [(&str, &str); 7] = [
    (
        "shared/log-kafka/src/query.rs",
        "queries the cluster on a thread that may block; the caller awaits it, within a bound",
    ),
    (
        "shared/log-kafka/src/client.rs",
        "drops a client, which waits for the client's own threads, within their bounds, and for a commit under way",
    ),
    ("shared/log-kafka/src/commit.rs", "commits for a member of a group; the caller awaits it, within a bound"),
    ("shared/log-kafka/src/feed.rs", "reads for a member of a group, as long as the feed lives; no function has one"),
    ("shared/log-kafka/src/iam.rs", "signs a token when the client asks for one; the asking thread waits for it"),
    (
        "shared/log-kafka/src/producer.rs",
        "connects a new producer to the brokers on a thread that may block; the caller awaits it, within a bound",
    ),
    (
        "shared/log-kafka/src/reader.rs",
        "reads a page on a thread that may block; the caller awaits it, within a bound",
    ),
];
const ADAPTERS: [&str; 5] = [
    "shared/clock-system/src/",
    "shared/log-kafka/src/",
    "shared/sender-http/src/",
    "shared/store-redis/src/",
    "shared/vault-xchacha/src/",
];

/// Whether a line starts a thread or a task: `spawn`, `spawn_local`, `spawn_blocking`, `thread::Builder`, `thread::scope`,
/// and the methods of these names on a runtime, a handle, a set or a tracker.
fn starts_something(line: &str) -> bool {
    let words = || line.split(|character: char| !character.is_alphanumeric() && character != '_');
    words().any(|word| word.starts_with("spawn")) || line.contains("std::thread") || line.contains("thread::")
}

fn is_below(path: &Path, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

fn starting(folders: &[&str]) -> Vec<String> {
    let own = sources().into_iter().filter(|path| is_below(path, folders) && !is_of_tests(path));
    own.flat_map(|path| {
        let lines = own_lines(&path).into_iter().filter(|(_, line)| starts_something(line));
        lines.map(|(number, line)| format!("{}:{number}: {}", path.display(), line.trim())).collect::<Vec<_>>()
    })
    .collect()
}

fn is_of_tests(path: &Path) -> bool {
    path.iter().any(|part| part == "tests" || part == "test_receiver.rs")
}

#[test]
fn functions_and_use_cases_start_no_thread_and_no_task() {
    let found = starting(&FUNCTIONS_AND_USE_CASES);
    assert!(found.is_empty(), "join futures instead:\n{}", found.join("\n"));
}

#[test]
fn adapters_start_one_only_where_its_end_is_known() {
    let found = starting(&ADAPTERS);
    let unknown: Vec<_> =
        found.iter().filter(|line| !ALLOWED.iter().any(|(path, _)| line.starts_with(path))).collect();
    assert!(unknown.is_empty(), "name the file in ALLOWED, with how it ends:\n{unknown:#?}");
    let idle: Vec<_> = ALLOWED.iter().filter(|(path, _)| !found.iter().any(|line| line.starts_with(path))).collect();
    assert!(idle.is_empty(), "nothing is started here any more: {idle:#?}");
}

#[test]
fn every_way_of_starting_is_found() {
    for line in [
        "tokio::spawn(work)",
        "set.spawn(work)",
        "    under_way.spawn_on(work, &handle);",
        "Handle::current().spawn(work)",
        "tokio::task::spawn_local(work)",
        "spawn_blocking(|| work())",
        "use tokio::spawn as begin;",
        "std::thread::Builder::new()",
        "thread::scope(|scope| {})",
    ] {
        assert!(starts_something(line), "{line}");
    }
    assert!(!starts_something("let respawned = threads + 1;"));
}
