//! Arrows run one way: roots -> server, lambda-kit -> wiring -> adapters -> delivery, wire -> domain. Adapters never name each
//! other.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, Package};

use crate::metadata;

/// Which crates of this workspace each crate may depend on. A new crate gets its row here.
const ARROWS: [(&str, &[&str]); 24] = [
    ("domain", &[]),
    ("wire", &["domain"]),
    ("delivery", &["domain"]),
    ("clock-system", &["delivery", "domain"]),
    ("http-api", &["delivery", "domain"]),
    ("in-memory", &["delivery", "domain"]),
    // Serves every function, so it may depend on no adapter.
    ("lambda-kit", &["delivery", "domain", "settings", "wire"]),
    ("log-kafka", &["delivery", "domain", "wire"]),
    ("sender-http", &["delivery", "domain"]),
    ("settings", &["domain"]),
    ("store-redis", &["delivery", "domain", "wire"]),
    ("testkit", &["delivery", "domain"]),
    ("vault-xchacha", &["delivery", "domain"]),
    // Between the adapters and the roots: the only crate that knows both the settings and the adapters.
    (
        "wiring",
        &["delivery", "domain", "http-api", "log-kafka", "sender-http", "settings", "store-redis", "vault-xchacha"],
    ),
    (
        // The long-running process. It gets Kafka, Redis, the sender and the vault from the wiring, as a function does.
        "server",
        &["clock-system", "delivery", "domain", "http-api", "in-memory", "settings", "wiring"],
    ),
    // The binary over it; the demo runs on the store in memory.
    ("howk", &["domain", "in-memory", "server", "settings", "wiring"]),
    // Knows the functions only by their public interfaces, as AWS does.
    ("howk-local", &["clock-system", "delivery", "domain", "log-kafka", "settings", "store-redis", "wiring"]),
    // A function gets its adapters from the wiring, by the features that its role needs.
    ("enqueue", &["clock-system", "delivery", "http-api", "lambda-kit", "wiring"]),
    ("fast-lane", &["clock-system", "domain", "lambda-kit", "wiring"]),
    ("reconciler", &["clock-system", "delivery", "domain", "lambda-kit", "wire", "wiring"]),
    ("scheduler", &["clock-system", "delivery", "lambda-kit", "wire", "wiring"]),
    ("slow-lane", &["clock-system", "domain", "lambda-kit", "wiring"]),
    ("howk-tests", ANY),
    ("howk-load", ANY),
];
const ANY: &[&str] = &["*"];

/// What the pure crate may depend on: none of these is async, reads a clock, draws numbers, serialises or does I/O.
const DOMAIN_MAY_NAME: [&str; 5] = ["base64", "sha2", "thiserror", "ulid", "url"];
/// What the use-cases may depend on: no Kafka, no Redis, no HTTP, no Lambda, no serialisation, no runtime.
const DELIVERY_MAY_NAME: [&str; 5] = ["async-trait", "futures", "metrics", "thiserror", "tracing"];

fn names(package: &Package) -> BTreeSet<String> {
    let normal = package.dependencies.iter().filter(|dependency| dependency.kind == DependencyKind::Normal);
    normal.map(|dependency| dependency.name.clone()).collect()
}

fn ours(metadata: &Metadata) -> BTreeMap<String, BTreeSet<String>> {
    metadata.packages.iter().map(|package| (package.name.to_string(), names(package))).collect()
}

#[test]
fn arrows_run_one_way() {
    let ours = ours(&metadata());
    let drawn = BTreeMap::from(ARROWS);
    for (name, named) in &ours {
        let allowed = drawn.get(name.as_str()).unwrap_or_else(|| panic!("{name} has no arrows in this test"));
        let crossing: Vec<_> = named
            .iter()
            .filter(|other| {
                ours.contains_key(*other) && !allowed.contains(&"*") && !allowed.contains(&other.as_str())
            })
            .collect();
        assert!(crossing.is_empty(), "{name} may not name {crossing:?}");
    }
}

#[test]
fn only_tests_name_the_testkit() {
    for (name, named) in ours(&metadata()) {
        assert!(!named.contains("testkit") || name == "howk-tests", "{name} may name testkit for its tests only");
    }
}

#[test]
fn the_domain_is_pure_and_delivery_names_no_technology() {
    let ours = ours(&metadata());
    for (name, allowed) in [("domain", &DOMAIN_MAY_NAME[..]), ("delivery", &DELIVERY_MAY_NAME[..])] {
        let foreign: Vec<_> = ours[name]
            .iter()
            .filter(|other| !ours.contains_key(*other) && !allowed.contains(&other.as_str()))
            .collect();
        assert!(foreign.is_empty(), "{name} may not name {foreign:?}");
    }
}

#[test]
fn every_version_stands_in_the_root_manifest() {
    for package in metadata().packages {
        let manifest = std::fs::read_to_string(&package.manifest_path).unwrap();
        let own_versions: Vec<_> =
            manifest.lines().filter(|line| line.contains("version = \"") || line.contains("= \"^")).collect();
        assert!(own_versions.is_empty(), "{}: {own_versions:?} belongs in [workspace.dependencies]", package.name);
    }
}
