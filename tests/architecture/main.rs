//! The repository's own rules, checked: arrows, purity, inherited lints, sizes, names, words, listed cases.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot read the workspace fails")]

mod arrows;
mod banned_words;
mod cases;
mod circles;
mod detached;
mod documents;
mod files;
mod settings_page;

use std::path::Path;

use cargo_metadata::{Metadata, MetadataCommand};

fn metadata() -> Metadata {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    MetadataCommand::new().manifest_path(manifest).no_deps().exec().expect("cargo metadata")
}
