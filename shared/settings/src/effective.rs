//! Keys after reading: what a binary prints at its start, and what the reference table lists.
//!
//! Filled by the reader. Values are already masked when they arrive here, so nothing below can leak one.

use std::fmt;
use std::fmt::Write;

use crate::key::variable;

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The file.
    File,
    /// A variable.
    Environment,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Default => "default",
            Self::File => "file",
            Self::Environment => "environment",
        })
    }
}

/// One key with the value in force; shown as `retry.base_delay = 10s (default)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveKey {
    /// The key's path in the file: `retry.base_delay`.
    pub key: &'static str,
    /// The value as it could be written in a variable; a secret is `[REDACTED]`, nothing is the empty text.
    pub value: String,
    /// Where it came from.
    pub origin: Origin,
}

impl fmt::Display for EffectiveKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} = {} ({})", self.key, self.value, self.origin)
    }
}

/// A key that was read, with its declaration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReadKey {
    pub(crate) path: &'static str,
    pub(crate) help: &'static str,
    pub(crate) allowed: String,
    pub(crate) entries_from: Option<&'static str>,
    pub(crate) default: String,
    pub(crate) value: String,
    pub(crate) origin: Origin,
}

impl ReadKey {
    pub(crate) fn effective(&self) -> EffectiveKey {
        EffectiveKey { key: self.path, value: self.value.clone(), origin: self.origin }
    }
}

/// The reference table in Markdown.
pub(crate) fn table(keys: &[ReadKey]) -> String {
    let mut text = String::from("| Key | Variable | Default | Allowed | Meaning |\n|---|---|---|---|---|\n");
    for key in keys {
        let mut names = format!("`{}`", variable(key.path));
        if let Some(prefix) = key.entries_from {
            names = format!("{names}, `{prefix}<NAME>`");
        }
        let default = if key.default.is_empty() { "–".to_owned() } else { format!("`{}`", key.default) };
        let cells = [format!("`{}`", key.path), names, default, key.allowed.clone(), key.help.to_owned()];
        let row: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        // Writing to a String cannot fail.
        writeln!(text, "| {} |", row.join(" | ")).unwrap_or_default();
    }
    text
}
