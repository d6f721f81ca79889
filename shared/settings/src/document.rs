//! Finds and reads the one settings file.
//!
//! Called by `load`. It reads at most [`FILE_BYTES_MAX`] and never merges two files. What the keys in the file mean is
//! the reader's matter.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::validation_error::ValidationError;
use crate::yaml;

/// The largest file that is read, in bytes; a larger one is an error. Settings of every tenant fit in a small part of it.
const FILE_BYTES_MAX: usize = 1_048_576;

/// What was found in the place of the file.
pub(crate) enum Found {
    /// No file at all: everything comes from variables and defaults.
    Nothing,
    /// A file that can be read.
    Document(Document),
    /// A file that must be corrected first.
    Broken(ValidationError),
}

/// The file. It has no debug text: it may hold secrets.
pub(crate) struct Document {
    /// Where it was found.
    pub(crate) path: PathBuf,
    /// What it holds: an object, or null for an empty file.
    pub(crate) tree: Value,
    text: String,
}

impl Document {
    /// The document of a text.
    ///
    /// # Errors
    /// Where and why the text is not acceptable.
    pub(crate) fn parse(path: PathBuf, text: String) -> Result<Self, ValidationError> {
        match yaml::parse(&text) {
            Ok(tree @ (Value::Object(_) | Value::Null)) => Ok(Self { path, tree, text }),
            Ok(_) => {
                let problem = "must hold sections such as \"api:\" at the top, not a list or a text";
                Err(ValidationError::new(format!("{}:1", path.display()), problem))
            }
            Err(error) => {
                let line = error.location().map(|location| format!(":{}", location.line())).unwrap_or_default();
                let place = format!("{}{line}", path.display());
                Err(ValidationError::new(place, format!("is not valid YAML: {error}")))
            }
        }
    }

    /// Where a key stands: `config.yaml:12`.
    pub(crate) fn line_of(&self, path: &[&str]) -> String {
        let line = yaml::line_of(&self.text, path).map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line}", self.path.display())
    }
}

/// Reads the file that `explicit`, `HOWK_CONFIG` or the search order names.
pub(crate) fn find(explicit: Option<PathBuf>, variables: &BTreeMap<String, String>) -> Found {
    let named = variables.get("HOWK_CONFIG").filter(|name| !name.is_empty()).map(PathBuf::from);
    if let Some(path) = explicit.or(named) {
        return match bytes_of(&path) {
            Ok(bytes) => parsed(path, bytes),
            Err(error) => broken(&path, &format!("cannot be read: {error}")),
        };
    }
    first_of(candidates(variables))
}

fn candidates(variables: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let home = variables.get("HOME").filter(|home| !home.is_empty());
    let home = home.map(|home| Path::new(home).join(".howk/config.yaml"));
    let system = PathBuf::from("/etc/howk/config.yaml");
    [Some(PathBuf::from("./config.yaml")), home, Some(system)].into_iter().flatten().collect()
}

fn first_of(paths: Vec<PathBuf>) -> Found {
    for path in paths {
        match bytes_of(&path) {
            Ok(bytes) => return parsed(path, bytes),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(error) => return broken(&path, &format!("cannot be read: {error}")),
        }
    }
    Found::Nothing
}

fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let limit = u64::try_from(FILE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn parsed(path: PathBuf, bytes: Vec<u8>) -> Found {
    if bytes.len() > FILE_BYTES_MAX {
        return broken(&path, &format!("is larger than {FILE_BYTES_MAX} bytes"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Document::parse(path, text).map_or_else(Found::Broken, Found::Document),
        Err(error) => {
            let valid = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
            let line = valid.filter(|byte| **byte == b'\n').count() + 1;
            Found::Broken(ValidationError::new(format!("{}:{line}", path.display()), "is not UTF-8 from here on"))
        }
    }
}

fn broken(path: &Path, problem: &str) -> Found {
    Found::Broken(ValidationError::new(path.display().to_string(), problem))
}
