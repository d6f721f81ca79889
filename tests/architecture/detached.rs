//! Nothing detached outlives an invocation: what a function is made of starts no thread and no task of its own.
//!
//! The lint `disallowed_methods` knows only the ways that it is told; this reads the sources for every one of them.

use std::path::Path;

use crate::files::{own_lines, sources};

/// What an invocation runs through. Adapters come below, each place by itself.
const FUNCTIONS_AND_USE_CASES: [&str; 7] = [
    "functions/",
    "shared/delivery/src/",
    "shared/domain/src/",
    "shared/http-api/src/",
    "shared/lambda-kit/src/",
    "shared/wire/src/",
    "shared/wiring/src/",
];

/// Where an adapter may start something, and how that ends with what it is for.
const ALLOWED: [(&str, &str); 7] = [
    ("shared/log-kafka/src/query.rs", "asks the cluster where it may block; the caller awaits it, within a bound"),
    (
        "shared/log-kafka/src/client.rs",
        "drops a client, which waits for the client's own threads, within their bounds, and for a commit under way",
    ),
    ("shared/log-kafka/src/commit.rs", "commits for a member of a group; the caller awaits it, within a bound"),
    ("shared/log-kafka/src/feed.rs", "reads for a member of a group, as long as the feed lives; no function has one"),
    ("shared/log-kafka/src/iam.rs", "signs a token when the client asks for one; the asking thread waits for it"),
    (
        "shared/log-kafka/src/producer.rs",
        "lets a new producer meet the brokers where it may block; the caller awaits it, within a bound",
    ),
    ("shared/log-kafka/src/reader.rs", "reads a page where it may block; the caller awaits it, within a bound"),
];
const ADAPTERS: [&str; 5] = [
    "shared/clock-system/src/",
    "shared/log-kafka/src/",
    "shared/sender-http/src/",
    "shared/store-redis/src/",
    "shared/vault-xchacha/src/",
];

/// Whether a line starts something that goes on by itself, in whatever way: `spawn`, `spawn_local`, `spawn_blocking`,
/// `thread::Builder`, `thread::scope` and what a runtime, a handle, a set or a tracker calls so.
fn starts_something(line: &str) -> bool {
    let words = || line.split(|dead_letter: char| !dead_letter.is_alphanumeric() && dead_letter != '_');
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
fn functions_and_use_cases_start_nothing_that_goes_on_by_itself() {
    let found = starting(&FUNCTIONS_AND_USE_CASES);
    assert!(found.is_empty(), "join futures instead:\n{}", found.join("\n"));
}

#[test]
fn adapters_do_so_only_where_it_is_known_how_that_ends() {
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
