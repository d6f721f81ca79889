//! The kinds of values: how each is parsed, described and shown.
//!
//! Used by the declarations of the sections. A kind gets a tree: from the file as YAML gave it, from a
//! variable as one text. So every kind also accepts text, and lists and maps read that text as JSON. Kinds
//! compose: a map of lists of hosts is `map(list(text(HOST)))`. No kind for a secret puts the value into a
//! problem or shows it.

mod collection;
mod scalar;
mod span;
mod text;

use serde_json::Value;

pub(crate) use collection::{fields, list, map};
pub(crate) use scalar::{Named, flag, fraction, one_of, whole};
pub(crate) use span::{days, hours, mins, ms, secs, span, written};
pub(crate) use text::{Rule, optional, secret, text};

/// The longest part of a wrong value that a problem repeats, in characters.
const SHOWN_CHARS_MAX: usize = 80;

/// A parsed value, or everything that is wrong with it.
pub(crate) type Parsed<T> = Result<T, Vec<String>>;

/// A kind of value.
pub(crate) trait Kind {
    /// What a value becomes.
    type Value;

    /// What is allowed, for people: `a whole number between 1 and 100`.
    fn allowed(&self) -> String;

    /// Reads a value; each problem names the value, unless it is a secret.
    fn parse(&self, raw: &Value) -> Parsed<Self::Value>;

    /// A value as it could be set again, except that a secret is masked.
    fn show(&self, value: &Self::Value) -> Value;

    /// Whether values must not appear in problems.
    fn is_secret(&self) -> bool {
        false
    }

    /// The kind, with the value of a key that is not set.
    fn or(self, default: Self::Value) -> Or<Self>
    where
        Self: Sized,
    {
        Or { kind: self, default }
    }
}

/// A kind and a default.
#[derive(Debug)]
pub(crate) struct Or<K: Kind> {
    pub(crate) kind: K,
    pub(crate) default: K::Value,
}

/// A shown value as one text, as a variable would hold it.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// A wrong value for a problem: short, on one line, without a password that a URL may carry.
pub(crate) fn quoted(value: &Value) -> String {
    let Value::String(text) = value else {
        return shortened(&value.to_string());
    };
    let text = match text.rsplit_once('@') {
        Some((_, host)) => format!("[REDACTED]@{host}"),
        None => text.clone(),
    };
    let simple = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._:/+-@[]".contains(c));
    shortened(&if simple { text } else { format!("{text:?}") })
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}

fn problem<T>(text: String) -> Parsed<T> {
    Err(vec![text])
}
