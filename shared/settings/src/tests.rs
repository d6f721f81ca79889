//! Tests of the crate as a whole, with a tree and variables as literals.

mod collections;
mod domain_rules;
mod errors;
mod files;
mod hostile;
mod ignored;
mod keys;
mod masking;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::document::{Document, Found};
use crate::load::assemble;
use crate::settings::Settings;
use crate::validation_error::SettingsErrors;

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn found(yaml: &str) -> Found {
    Found::Document(Document::parse(PathBuf::from("config.yaml"), yaml.to_owned()).expect("the test's YAML"))
}

fn read(yaml: &str, pairs: &[(&str, &str)]) -> Result<Settings, SettingsErrors> {
    assemble(found(yaml), &variables(pairs), &[]).checked()
}

/// The errors as lines; none when the settings are fine.
fn lines(yaml: &str, pairs: &[(&str, &str)]) -> Vec<String> {
    let errors = read(yaml, pairs).err().map(|errors| errors.errors().to_vec()).unwrap_or_default();
    errors.iter().map(ToString::to_string).collect()
}

/// The single error.
fn line(yaml: &str, pairs: &[(&str, &str)]) -> String {
    let lines = lines(yaml, pairs);
    assert_eq!(lines.len(), 1, "{lines:#?}");
    lines[0].clone()
}
