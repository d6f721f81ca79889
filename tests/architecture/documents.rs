//! The documents name files that exist: links, and paths to a file in code style.

use std::fs;
use std::path::Path;

use crate::files::{files, root};

/// Endings of files that a document may name by their path.
const ENDINGS: [&str; 8] = [".java", ".json", ".lua", ".md", ".mjs", ".py", ".rs", ".yaml"];
/// Where a path in a document may begin: at the top, among the crates, or beside the document.
const TOPS: [&str; 2] = ["", "shared"];

/// The targets of a document's links within the repository, without anchors.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let within = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
    within.filter_map(|target| target.split('#').next()).collect()
}

/// The paths to a file that stand between backticks on one line.
fn paths(text: &str) -> Vec<&str> {
    let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted
        .filter(|word| word.contains('/') && is_path(word) && ENDINGS.iter().any(|end| word.ends_with(end)))
        .collect()
}

/// Whether a word is a path within the repository: neither an address nor a place in a home or a system folder.
fn is_path(word: &str) -> bool {
    let relative = word.starts_with(|first: char| first.is_ascii_alphanumeric());
    relative && word.chars().all(|character| character.is_ascii_alphanumeric() || "/._-".contains(character))
}

fn exists(document: &Path, path: &str) -> bool {
    let beside = document.parent().unwrap_or(Path::new(""));
    TOPS.iter().map(Path::new).chain([beside]).any(|top| root().join(top).join(path).exists())
}

#[test]
fn documents_name_files_that_exist() {
    let mut named = 0;
    let mut missing = Vec::new();
    for document in files().into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let text = fs::read_to_string(root().join(&document)).unwrap();
        for path in links(&text).into_iter().chain(paths(&text)) {
            named += 1;
            if !exists(&document, path) {
                missing.push(format!("{}: {path}", document.display()));
            }
        }
    }
    assert!(named > 30, "only {named} paths are found in the documents");
    assert!(missing.is_empty(), "no such files:\n{}", missing.join("\n"));
}

#[test]
fn links_and_paths_are_found() {
    assert_eq!(links("[a](b.md#c) [d](https://e.f) [g](#h) [i](../j/)"), ["b.md", "../j/"]);
    assert_eq!(paths("`a/b.rs` and `c.rs`, `~/d/e.yaml`, `f/g.rs::h`, `./i/j.md`\n`k`"), ["a/b.rs"]);
}
