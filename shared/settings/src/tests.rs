//! Tests of the crate as a whole, with a tree and variables as literals.

mod collections;
mod files;
mod hostile;
mod keys;
mod masking;
mod mistakes;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::file::Found;
use crate::mistake::SettingsErrors;
use crate::settings::{Settings, assemble};

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn found(yaml: &str) -> Found {
    Found::Tree(PathBuf::from("config.yaml"), crate::yaml::parse(yaml).expect("the test's YAML"))
}

fn read(yaml: &str, pairs: &[(&str, &str)]) -> Result<Settings, SettingsErrors> {
    assemble(found(yaml), &variables(pairs), &[]).checked()
}

/// The mistakes as lines; none when the settings are fine.
fn lines(yaml: &str, pairs: &[(&str, &str)]) -> Vec<String> {
    let mistakes = read(yaml, pairs).err().map(|errors| errors.mistakes().to_vec()).unwrap_or_default();
    mistakes.iter().map(ToString::to_string).collect()
}

/// The single mistake.
fn line(yaml: &str, pairs: &[(&str, &str)]) -> String {
    let lines = lines(yaml, pairs);
    assert_eq!(lines.len(), 1, "{lines:#?}");
    lines[0].clone()
}
