//! Keys after reading: what a binary prints at its start, and what the reference table lists.
//!
//! Filled by the reader. Values are already masked when they arrive here, so nothing below can leak one.

use std::fmt;

use crate::ignored::IGNORED;
use crate::key::variable;

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// It is not set.
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
    pub(crate) default: String,
    pub(crate) value: String,
    pub(crate) origin: Origin,
    /// Where the file sets it, when its value is from there: `config.yaml:12`.
    pub(crate) line: Option<String>,
}

impl ReadKey {
    pub(crate) fn effective(&self) -> EffectiveKey {
        EffectiveKey { key: self.path, value: self.value.clone(), origin: self.origin }
    }

    /// How an error names this key, or `key` below it.
    pub(crate) fn place_of(&self, key: &str) -> String {
        match &self.line {
            Some(line) => format!("{line} {key}"),
            None => format!("{key} ({})", variable(self.path)),
        }
    }
}

/// The reference in Markdown: a table of every key, and one of the ignored keys.
pub(crate) fn tables(keys: &[ReadKey]) -> String {
    let settings = keys.iter().map(|key| {
        let default = if key.default.is_empty() { "–".to_owned() } else { format!("`{}`", key.default) };
        let names = [format!("`{}`", key.path), format!("`{}`", variable(key.path))];
        row(&[&names[..], &[default, key.allowed.clone(), key.help.to_owned()]].concat())
    });
    let ignored = IGNORED.iter().map(|ignored| {
        let entries = ignored.entries_from.map(|prefix| format!(", `{prefix}<NAME>`")).unwrap_or_default();
        let variables = format!("`{}`{entries}", variable(ignored.key));
        row(&[format!("`{}`", ignored.key), variables, ignored.reason.to_owned()])
    });
    format!(
        "| Key | Variable | Default | Allowed | Meaning |\n|---|---|---|---|---|\n{}\n## Ignored keys\n\nSettings of the \
         original that steer nothing here. They may stay set: every binary names those that are, once, at its start.\n\n\
         | Key | Variable | Reason |\n|---|---|---|\n{}",
        settings.collect::<String>(),
        ignored.collect::<String>(),
    )
}

/// A row of a table.
fn row(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}
