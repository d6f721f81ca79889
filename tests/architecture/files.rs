//! What files may look like.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::metadata;

/// Lines of a source file without its tests, at most.
const SOURCE_LINES_MAX: usize = 500;
/// Words that say nothing, as names of files and folders.
const EMPTY_WORDS: [&str; 9] =
    ["common", "helper", "helpers", "manager", "misc", "types", "util", "utils", "shared_types"];
/// What a visitor sees first, besides dotfiles.
const TOP_LEVEL: [&str; 10] = [
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "functions",
    "infra",
    "localstack",
    "shared",
    "tests",
];

pub(crate) fn root() -> PathBuf {
    // Not by Cargo's metadata, which takes a process: this is called for every file.
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every file that is, or would be, committed.
pub(crate) fn files() -> Vec<PathBuf> {
    let listing = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files");
    let text = String::from_utf8(listing.stdout).unwrap();
    text.lines().map(PathBuf::from).filter(|path| root().join(path).exists()).collect()
}

pub(crate) fn sources() -> Vec<PathBuf> {
    files().into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// The lines of a source before its tests, numbered from 1, without those that are comments.
pub(crate) fn own_lines(path: &Path) -> Vec<(usize, String)> {
    let text = fs::read_to_string(root().join(path)).unwrap();
    let own = text.lines().take_while(|line| *line != "#[cfg(test)]").zip(1..);
    let code = own.filter(|(line, _)| !line.trim_start().starts_with("//"));
    code.map(|(line, number)| (number, line.to_owned())).collect()
}

#[test]
fn files_stay_small() {
    for path in sources() {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        let own = text.lines().take_while(|line| *line != "#[cfg(test)]").count();
        assert!(own <= SOURCE_LINES_MAX, "{} has {own} lines; at most {SOURCE_LINES_MAX}", path.display());
    }
}

#[test]
fn names_say_something() {
    for path in files() {
        let empty = path.iter().find(|part| {
            let part = Path::new(part).file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
            EMPTY_WORDS.contains(&part.as_str())
        });
        assert!(empty.is_none(), "{}: {empty:?} says nothing", path.display());
    }
}

#[test]
fn every_crate_inherits_the_lints_and_none_replaces_them() {
    for package in metadata().packages {
        let manifest = fs::read_to_string(&package.manifest_path).unwrap();
        assert!(manifest.contains("[lints]\nworkspace = true"), "{} does not inherit the lints", package.name);
    }
    let replacing: Vec<_> = files()
        .into_iter()
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.trim_start_matches('.') == "clippy.toml" && path.components().count() > 1
        })
        .collect();
    assert!(replacing.is_empty(), "a second clippy.toml replaces the root's bans: {replacing:?}");
}

#[test]
fn no_lint_is_silenced_without_being_expected() {
    // Spelled in two parts so that this file does not find itself.
    let silenced = ["#[", "allow("].concat();
    for path in sources() {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        assert!(!text.contains(&silenced), "{}: use #[expect(…, reason = \"…\")]", path.display());
    }
}

#[test]
fn the_top_level_is_what_a_visitor_expects() {
    let strange: Vec<_> = files()
        .into_iter()
        .filter_map(|path| path.iter().next().map(|first| first.to_string_lossy().into_owned()))
        .filter(|first| !first.starts_with('.') && !TOP_LEVEL.contains(&first.as_str()))
        .collect();
    assert!(strange.is_empty(), "at the top level: {strange:?}");
}
